# SPDX-License-Identifier: Apache-2.0
"""Starts a program on several ranks of this machine, for notebooks and scripts."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys

from halocline.errors import UnavailableError, UsageError

#: Set by launchers for the ranks that they start.
_OF_A_RANK = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID")

_ASK = """
import mpi4py
mpi4py.rc.initialize = False
from halocline import _library
print(_library.family(), *_library.loaded_mpis(), sep="\\n")
"""


def mpi_of_mpi4py() -> tuple[str, list[str]]:
    """Returns the family of the MPI that mpi4py finds, as _library.family(), and the paths of its libraries; in a
    process of its own, so that none is loaded here."""
    asked = subprocess.run([sys.executable, "-c", _ASK], capture_output=True, text=True, check=False)
    if asked.returncode != 0:
        raise UnavailableError(f"no MPI can be loaded: {asked.stderr.strip().splitlines()[-1]}")
    family, *libraries = asked.stdout.split("\n")[:-1]
    return family, libraries


def refuse_ranks() -> None:
    """Raises UsageError in a rank that a launcher started."""
    rank = next((name for name in _OF_A_RANK if name in os.environ), None)
    if rank is not None:
        raise UsageError(f"this process is a rank itself ({rank} is {os.environ[rank]}); it cannot start others")


def _launchers(libraries: list[str]) -> list[pathlib.Path]:
    """Returns programs that may belong to an MPI, the nearest to its library first."""
    folders = [pathlib.Path(library).parent.parent / "bin" for library in libraries]
    folders += [pathlib.Path(sys.prefix) / "bin", *map(pathlib.Path, os.get_exec_path())]
    names = ("mpiexec", "mpiexec.openmpi", "mpiexec.mpich", "mpiexec.hydra")
    return [folder / name for folder in folders for name in names if shutil.which(folder / name)]


def _is_of_open_mpi(launcher: pathlib.Path) -> bool:
    version = subprocess.run([launcher, "--version"], capture_output=True, text=True, check=False)
    text = version.stdout + version.stderr
    return any(name in text for name in ("Open MPI", "OpenRTE", "PRRTE"))


def launch(ranks: int, *command: str | os.PathLike[str], timeout: float | None = None) -> None:
    """Runs a Python script and its arguments, or another program, on `ranks` ranks of this machine, by the launcher of
    the MPI that mpi4py finds, and waits for its end, at most for `timeout` seconds. Ranks may be more than cores.

        halocline.launch(4, "heat.py", "--steps", "100")

    UsageError in a process that is a rank itself, UnavailableError without a launcher of this MPI,
    subprocess.CalledProcessError if the program fails, subprocess.TimeoutExpired."""
    if not command or not isinstance(ranks, int) or ranks < 1:
        raise UsageError(f"launch() takes a number of ranks, at least 1, and a program; not {(ranks, *command)}")
    refuse_ranks()
    family, libraries = mpi_of_mpi4py()
    is_open = family == "openmpi"
    for launcher in _launchers(libraries):
        if _is_of_open_mpi(launcher) != is_open:
            continue
        words = [str(launcher), "-n", str(ranks)]
        environment = dict(os.environ)
        if is_open:
            words[1:1] = ["--oversubscribe", "--bind-to", "none"]
            if os.geteuid() == 0:  # refused otherwise, and containers often have no other user
                environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        if str(command[0]).endswith(".py"):
            words += [sys.executable, "-m", "mpi4py"]  # which ends all ranks for sys.exit("why") on one
        subprocess.run([*words, *(os.fspath(word) for word in command)], check=True, timeout=timeout, env=environment)
        return
    raise UnavailableError(
        f"no launcher of {', '.join(libraries) or 'this MPI'} is beside it, in {sys.prefix}/bin or in PATH"
    )
