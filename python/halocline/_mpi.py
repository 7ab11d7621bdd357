# SPDX-License-Identifier: Apache-2.0
"""MPI by mpi4py, and the end of all ranks where one fails."""

from __future__ import annotations

import os
import sys
import time
import traceback
from types import TracebackType
from typing import Any

from halocline.errors import CommunicationError, UsageError


def communicator(comm: Any) -> Any:
    """Returns `comm`, or the world, which starts MPI."""
    from halocline import _library

    _library.family()  # says what to do where there is no MPI
    from mpi4py import MPI

    if comm is None:
        return MPI.COMM_WORLD
    if not isinstance(comm, MPI.Intracomm):
        raise UsageError(f"comm= takes an intracommunicator of mpi4py's, not a {type(comm).__name__}")
    return comm


def meet(comm: Any, wait_limit: float) -> None:
    """Waits until all ranks are here: the call that makes a communicator blocks inside MPI, without a limit."""
    request, since = comm.Ibarrier(), time.monotonic()
    while not request.Test():
        time.sleep(0.0001)
        if wait_limit > 0 and time.monotonic() - since > wait_limit:
            raise CommunicationError(
                f"rank {comm.Get_rank()} has waited {wait_limit:g} s for all ranks to make this grid; one is stopped, "
                "lost or doing something else (wait_limit= sets how long to wait)"
            )


def handle_of(comm: Any) -> int:
    """Returns a communicator's handle as Fortran has it."""
    return int(communicator(comm).py2f())


def end_all_ranks_on_errors(comm: Any) -> None:
    """Makes an exception that nobody catches end the other ranks, too: they would wait for this one. Not where
    Python is interactive, and not if the program has a hook of its own."""
    if comm.Get_size() == 1 or hasattr(sys, "ps1") or sys.excepthook is not sys.__excepthook__:
        return

    process = os.getpid()

    def hook(kind: type[BaseException], error: BaseException, where: TracebackType | None) -> None:
        if os.getpid() != process:  # forked: MPI is the parent's
            sys.__excepthook__(kind, error, where)
            return
        text = "".join(traceback.format_exception(kind, error, where))
        print(f"rank {comm.Get_rank()} ends all ranks:\n{text}", file=sys.stderr, flush=True)
        comm.Abort(1)

    sys.excepthook = hook
