# SPDX-License-Identifier: Apache-2.0
"""The command `halocline`, and its reports as dictionaries."""

from __future__ import annotations

import contextlib
import html
import json
import os
import pathlib
import signal
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from typing import Any

from halocline import _library, launcher
from halocline.errors import Error, UnavailableError, UsageError
from halocline.problem import Problem, word_of

#: A file to run instead of the package's own.
VARIABLE = "HALOCLINE_COMMAND"


def program_and_environment() -> tuple[pathlib.Path, dict[str, str]]:
    """Returns the command for the MPI that mpi4py finds, and the environment in which it finds that MPI. Starts no
    MPI here."""
    family, libraries = launcher.mpi_of_mpi4py()
    program = _program(family)
    environment = dict(os.environ)
    folders = [str(pathlib.Path(library).parent) for library in libraries]
    if "LD_LIBRARY_PATH" in environment:
        folders.append(environment["LD_LIBRARY_PATH"])
    environment["LD_LIBRARY_PATH"] = ":".join(folders)
    return program, environment


def _program(family: str) -> pathlib.Path:
    if named := os.environ.get(VARIABLE):
        return pathlib.Path(named)
    library = os.environ.get(_library.VARIABLE)
    if library is not None:
        file = pathlib.Path(library).parent.parent / "bin" / "halocline"
    else:
        file = pathlib.Path(__file__).parent / "bin" / family / "halocline"
    if not file.exists():
        raise UnavailableError(f"there is no command {file}; {VARIABLE} names another")
    return file


class Report(dict[str, Any]):
    """A report of the command: its JSON, and as a text."""

    def __init__(self, values: dict[str, Any], text: str, code: int) -> None:
        super().__init__(values)
        self.text = text
        #: The command's exit code: 0, or with a report 1 or 3, for what it found.
        self.code = code

    def plot(self) -> Any:
        """Draws what there is to draw, and returns a Figure of matplotlib's. UnavailableError without matplotlib."""
        from halocline.plots import panels, reports

        panels.matplotlib()
        return panels.figure_of(reports.panels_of(self))

    def save_page(self, path: str | os.PathLike[str]) -> None:
        """Writes pictures and values as one HTML page, as `halocline plot --html`. UnavailableError without
        matplotlib, ResourceError where it cannot be written."""
        from halocline.plots import page, panels, reports, sources

        panels.matplotlib()
        page.save([sources.Source(str(self["report"]), reports.panels_of(self), self)], pathlib.Path(path))

    def __str__(self) -> str:
        return self.text.rstrip("\n")

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


#: Options whose values go along the axes: in the order of an array's here, x first there.
ALONG_AXES = ("cells", "cells_per_rank", "process_grid")


def _word(name: str, value: Any) -> str:
    if isinstance(value, str) or not isinstance(value, Iterable):
        return str(value)
    several = list(value)
    if name in ALONG_AXES and not any(isinstance(one, Iterable) for one in several):
        return "x".join(str(one) for one in reversed(several))
    return ",".join(_word(name, one) for one in several)


def _words(options: dict[str, Any]) -> Iterator[str]:
    for name, value in options.items():
        if value is None or value is False:
            continue
        yield "--" + name.replace("_", "-")
        if value is not True:
            yield _word(name, value)


def report_of(*words: str, **options: Any) -> Report:
    """Runs the command, and returns its report; raises its error. UsageError in a rank of MPI."""
    launcher.refuse_ranks()
    program, environment = program_and_environment()
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "report.json"
        command = [str(program), *words, *_words(options), "--json", str(file)]
        code, shown, told = _run(command, environment)
        if file.exists():
            return Report(json.loads(file.read_text(encoding="utf-8")), shown, code)
    text = told.strip().removeprefix("halocline: ") or f"the command ended with code {code}"
    raise {2: UsageError, 3: UnavailableError}.get(code, Error)(text)


def _run(command: list[str], environment: dict[str, str]) -> tuple[int, str, str]:
    """Returns the command's code and what it wrote. Ctrl-C ends its run as in a terminal, after a checkpoint if there
    is a folder for it, and is a KeyboardInterrupt once it has ended; a second one does not wait."""
    # In a group of its own, so that Ctrl-C comes to it once, from here.
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
    )
    try:
        shown, told = process.communicate()
    except BaseException as error:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGINT)
        try:
            process.communicate()
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            raise
        raise error from None
    return process.returncode, shown, told


def doctor(**options: Any) -> Report:
    """Finds what works on this machine, how fast, and what to change: `halocline doctor`. Options are the command's:
    ranks=4, launcher="srun -n {ranks}", verbose=True, compare="good.json". UsageError in a rank of MPI."""
    return report_of("doctor", **options)


def plan(problem: str | Problem, **options: Any) -> Report:
    """Counts cells, messages and memory of a run, without running it: `halocline plan`. Options are the command's:
    ranks=64, cells=(512, 512, 512), halo_depth=2; along axes in the order of an array's axes. UsageError in a rank of
    MPI."""
    with tempfile.TemporaryDirectory() as folder:
        return report_of("plan", word_of(problem, pathlib.Path(folder)), **options)


def bench(what: str, **options: Any) -> Report:
    """Times messages ("p2p"), exchanges ("halo"), sweeps ("step") or layouts ("layout"), and checks their results:
    `halocline bench`. Options are the command's; lists have several values: ranks=2, sizes=[8, "64Ki"],
    cells_per_rank=[(64, 64)]. UsageError in a rank of MPI."""
    return report_of("bench", what, **options)
