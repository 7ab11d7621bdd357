# SPDX-License-Identifier: Apache-2.0
"""Solves stencil problems, as `halocline solve` does."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import json
import pathlib
import signal
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from halocline import _arrays, _c, _mpi, command, launcher
from halocline.command import ALONG_AXES
from halocline.errors import UnavailableError, UsageError
from halocline.grid import Grid, Sides
from halocline.problem import Problem, word_of
from halocline.result import Result


@dataclasses.dataclass(frozen=True)
class Progress:
    """How far a run is."""

    sweep: int  #: done
    sweeps: int  #: in all
    first: int  #: that an earlier run had done
    norm: float | None  #: the last one
    seconds: float
    glups: float  #: thousand million updates a second
    saved: int | None  #: sweeps that the run's newest checkpoint has


def _words(name: str, value: Any) -> Iterator[str]:
    """Yields an option's value as words of the command line."""
    if isinstance(value, bool):
        yield "yes" if value else "no"
    elif isinstance(value, str):
        yield value
    elif name in ALONG_AXES and isinstance(value, Iterable):
        yield "x".join(str(one) for one in reversed(list(value)))
    elif isinstance(value, Iterable):
        for one in value:
            yield from _words(name, one)
    else:
        yield repr(value) if isinstance(value, float) else str(value)


class _Request:
    """The options of a solve for the C interface, which live as long as this does."""

    def __init__(
        self, problem: str | Problem, parameters: Mapping[str, float], options: Mapping[str, Any], **members: Any
    ) -> None:
        if not isinstance(parameters, Mapping):
            raise UsageError(f"parameters= takes a dictionary, as {{'D': 0.2}}, not {parameters!r}")
        if not isinstance(problem, (str, Problem)):
            raise UsageError(f"a problem is a name, the path of a file or a Problem, not {problem!r}")
        if isinstance(problem, str) and "\n" in problem:
            raise UsageError("a text of several lines is neither a name nor a path; give halocline.Problem(text)")
        if "initial" in options and not isinstance(options["initial"], (str, list, tuple)):
            raise UsageError("initial= takes the path of a .npy file, as 'u=u.npy'; arrays= takes arrays, as {'u': u}")
        words = [(name, word) for name, value in options.items() if value is not None for word in _words(name, value)]
        self._options = (_c.Option * len(words))()
        for number, (name, word) in enumerate(words):
            self._options[number] = _c.Option(name.encode(), word.encode())
        self._parameters = (_c.Parameter * len(parameters))()
        for number, (name, value) in enumerate(parameters.items()):
            self._parameters[number] = _c.Parameter(name.encode(), value)
        self.c = _c.SolveOptions(
            problem=(problem.name if isinstance(problem, Problem) else problem).encode(),
            text=problem.text.encode() if isinstance(problem, Problem) else None,
            options=self._options,
            option_count=len(words),
            parameters=self._parameters,
            parameter_count=len(parameters),
            **members,
        )


def check(
    problem: str | Problem, *, ranks: int = 1, parameters: Mapping[str, float] | None = None, **options: Any
) -> dict[str, Any]:
    """Returns what solve() would solve with these options on `ranks` ranks: cells, fields, coefficients, parameters,
    precision, sweeps and norm. Along axes values are in the order of an array's axes. UsageError for what it would
    refuse: for mistakes in the problem with line and column. Not collective."""
    _mpi.communicator(None)
    text = ctypes.c_char_p()
    if not hasattr(ranks, "__index__") or ranks < 1:
        raise UsageError(f"ranks= takes a whole number, at least 1, not {ranks!r}")
    request = _Request(problem, parameters or {}, options)
    _c.solver().describe_solve(request.c, ranks, text)
    assert text.value is not None
    described: dict[str, Any] = json.loads(text.value)
    for name in ("cells", "periodic", "lower", "spacing"):
        described[name] = tuple(reversed(described[name]))
    return described


def solve(
    problem: str | Problem,
    *,
    grid: Grid | None = None,
    comm: Any = None,
    ranks: int | None = None,
    arrays: Mapping[str, Any] | None = None,
    like: Any = "numpy",
    parameters: Mapping[str, float] | None = None,
    progress: bool | Callable[[Progress], None] = False,
    **options: Any,
) -> Result:
    """Solves a problem: the name of a built-in one, the path of a file, or a Problem.

        result = halocline.solve("heat", cells=(512, 512), sweeps=1000)
        result["u"]                       # this rank's part

    grid: on its cells and process grid; by default a grid of `cells` or of the problem's, over `comm`, the world.
    arrays: yours by the names of fields and coefficients, of this rank's part, with the grid's halo or with none:
    fields begin with their values and get the result. ("start", array) and ("result", array) do one of these. Fields
    without an array get one of the library that `like` names. Time and sweeps begin at 0, also where an array is the
    result of an earlier solve; a checkpoint goes on. parameters: instead of the problem's values.
    ranks: starts so many, by the command, from a process that is no rank itself; all arrays are of the whole domain,
    and the result's are NumPy's. Ranks may be more than cores.
    progress: True for a bar (by tqdm, on rank 0), or a function that is called with a Progress on rank 0.
    Options are those of the command by their names in docs/options.md: sweeps=100, norm="max", tolerance=1e-6,
    precision="f32", output=["u.npy", "u.png"], verify=True, sums=["u"], probes=["u@80,96"]. Words and the report have x
    first, as the command. A norm is that of the change in a sweep: a small one is not yet a small error.

    Collective. Ctrl-C on any rank ends the run between two sweeps, after a checkpoint if there is a folder for it, and
    is a KeyboardInterrupt there. UsageError for mistakes, as check(); a result that is not finite is no error.
    """
    given = parameters or {}
    arrays = {} if arrays is None else arrays
    if not isinstance(arrays, Mapping):
        raise UsageError("arrays= takes a dictionary, as {'u': u}")
    if ranks is not None:
        if grid is not None or comm is not None or progress:
            raise UsageError("ranks= starts a run of its own; leave grid=, comm= and progress= out")
        return _solve_on(ranks, problem, arrays, given, options)
    options.setdefault("precision", _precision_of(arrays))
    if grid is None:
        world = _mpi.communicator(comm)
        described = check(problem, ranks=world.Get_size(), parameters=given, **options)
        split = {name: options.pop(name, None) for name in ALONG_AXES}
        with Grid(described["cells"], comm=world, process_grid=split["process_grid"]) as made:
            return _solve(problem, made, described, arrays, like, given, progress, options)
    if comm is not None:
        raise UsageError("a grid has its communicator; leave comm= out")
    for name in ALONG_AXES:
        if options.get(name) is not None:
            raise UsageError(f"a grid has its cells and process grid; leave {name}= out")
    on_grid = {"cells": grid.cells, "process_grid": grid.process_grid}
    described = check(problem, ranks=grid.ranks, parameters=given, **on_grid, **options)
    return _solve(problem, grid, described, arrays, like, given, progress, options)


def _solve(
    problem: str | Problem,
    grid: Grid,
    described: Mapping[str, Any],
    arrays: Mapping[str, Any],
    like: Any,
    parameters: Mapping[str, float],
    progress: bool | Callable[[Progress], None],
    options: Mapping[str, Any],
) -> Result:
    _check_names(arrays, [*described["fields"], *described["coefficients"]])
    uses = [(name, *_use_and_array(one)) for name, one in arrays.items()]
    own = tuple(one.stop - one.start for one in grid.owned)
    dtype = "float32" if described["precision"] == "f32" else "float64"
    results = {name: array for name, use, array in uses if name in described["fields"] and use != "start"}
    for name in described["fields"]:
        if name not in results:
            results[name] = _arrays.zeros(own, 0, dtype, like)
            uses.append((name, "result", results[name]))

    calls = _Calls(grid, progress)
    outcome = _c.SolveResult()
    with contextlib.ExitStack() as ends:
        fields = (_c.SolveArray * len(uses))()
        for number, (name, use, array) in enumerate(uses):
            field = _field(grid, name, array, own)
            ends.callback(_c.interface().field_destroy, field)
            fields[number] = _c.SolveArray(name.encode(), field, use.encode())
        request = _Request(
            problem,
            parameters,
            options,
            arrays=fields,
            array_count=len(uses),
            on_progress=calls.on_progress,
            stop_request=calls.stop_request,
        )
        with calls:
            _c.solver().solve(grid._handle, request.c, outcome)
    text, report = grid._comm.bcast((outcome.report, outcome.json))
    calls.raise_what_ended_the_run()  # now that no other rank waits for this one
    results = {name: results[name] for name in described["fields"]}  # in the problem's order
    inner = {name: array if tuple(array.shape) == own else array[grid.inner] for name, array in results.items()}
    return Result(text.decode(), json.loads(report), results, inner, grid.owned, dict(described), grid._comm)


def _use_and_array(given: Any) -> tuple[str, Any]:
    return given if isinstance(given, tuple) else ("both", given)


def _check_names(arrays: Mapping[str, Any], known: Sequence[str]) -> None:
    for name in arrays:
        if name not in known:
            raise UsageError(f"the problem has no field or coefficient '{name}'; it has: {', '.join(known)}")


def _precision_of(arrays: Mapping[str, Any]) -> str | None:
    """Returns that of all arrays; None without arrays."""
    layouts = {name: _arrays.described(_use_and_array(one)[1], f"array '{name}'")[1] for name, one in arrays.items()}
    for name, layout in layouts.items():
        if layout.type not in ("<f4", "<f8"):
            raise UsageError(f"array '{name}' has values of type {layout.type}; a solve takes float32 or float64")
    for name, layout in layouts.items():
        first = next(iter(layouts))
        if layout.type != layouts[first].type:
            raise UsageError(
                f"array '{first}' has values of type {layouts[first].type}, '{name}' of {layout.type}; "
                "a solve has one precision"
            )
    return {"<f4": "f32", "<f8": "f64"}[layouts[next(iter(layouts))].type] if layouts else None


#: Flags of the command that are not the option's name.
_FLAGS = {
    "sums": "sum",
    "probes": "probe",
    "ranges": "range",
    "tuning_file": "tune",
    "tuning_seconds": "tune-budget",
}


def _solve_on(
    ranks: int,
    problem: str | Problem,
    arrays: Mapping[str, Any],
    parameters: Mapping[str, float],
    options: Mapping[str, Any],
) -> Result:
    """Runs the command, and reads what it wrote."""
    import numpy

    launcher.refuse_ranks()
    options = {"precision": _precision_of(arrays), **options}
    described = check(problem, ranks=ranks, parameters=parameters, **options)
    _check_names(arrays, [*described["fields"], *described["coefficients"]])
    uses = {name: _use_and_array(one) for name, one in arrays.items()}
    with tempfile.TemporaryDirectory() as text:
        folder = pathlib.Path(text)
        words = [f"--set={one}={value!r}" for one, value in parameters.items()]
        for option, value in options.items():
            flag = "--" + _FLAGS.get(option, option).replace("_", "-")
            for word in [] if value is None or value is False else _words(option, value):
                words.append(flag if value is True else f"{flag}={word}")
        words += [f"--output={field}={folder / field}.npy" for field in described["fields"]]
        for name, (use, array) in uses.items():
            if name in described["coefficients"]:
                raise UsageError(f"'{name}' is a coefficient: with ranks= the problem has to name a file of it")
            if not isinstance(array, numpy.ndarray) or array.shape != described["cells"]:
                raise UsageError(
                    f"array '{name}' is a {type(array).__name__} of shape {array.shape}; with ranks= it has to be "
                    f"NumPy's, of the whole domain {described['cells']}"
                )
            if use != "result":
                numpy.save(folder / f"start-{name}.npy", array)
                words.append(f"--initial={name}={folder / f'start-{name}.npy'}")
        report = command.report_of("solve", word_of(problem, folder), *words, ranks=ranks)
        # With output_every there is one of each time, with its number in the name.
        pattern = "{}-*.npy" if options.get("output_every") else "{}.npy"
        files = {field: sorted(folder.glob(pattern.format(field))) for field in described["fields"]}
        results = {field: numpy.load(several[-1]) for field, several in files.items()}
    for name, (use, array) in uses.items():
        if use != "start":
            array[...] = results[name]
            results[name] = array
    whole = tuple(slice(0, count) for count in described["cells"])
    return Result(report.text, dict(report), results, results, whole, described)


def _field(grid: Grid, name: str, array: Any, own: tuple[int, ...]) -> _c.Handle:
    address, layout = _arrays.described(array, f"array '{name}'")
    if layout.on_gpu:
        _arrays.finish_work_on(array)
    none: Sides = tuple((0, 0) for _ in own)
    if layout.shape not in (own, grid.shape):
        raise UsageError(
            f"array '{name}' has shape {layout.shape}; this rank's part has {own}, with the grid's halo {grid.shape}"
        )
    return grid._field(name, address, layout, none if layout.shape == own else grid.halo)


class _Calls:
    """What a run calls on its way, and Ctrl-C meanwhile."""

    def __init__(self, grid: Grid, progress: bool | Callable[[Progress], None]) -> None:
        self.on_progress = _c.OnProgress(self._show) if progress else _c.OnProgress()
        self.stop_request = _c.StopRequest(self._stop)
        self._reason = ctypes.create_string_buffer(b"Ctrl-C")
        self._is_interrupted = False
        self._error: BaseException | None = None
        self._tell = progress if callable(progress) else None
        self._bar: Any = None
        self._make_bar: Callable[[], Any] | None = None
        self._before: Any = None
        if progress is not True:
            return
        try:  # on every rank, or the others would wait
            from tqdm.auto import tqdm
        except ImportError as error:
            raise UnavailableError("progress=True takes tqdm: pip install tqdm; or give a function") from error
        if grid.rank == 0:
            self._make_bar = lambda: tqdm(unit=" sweeps", leave=False)

    def _show(self, at: Any, _user: Any) -> None:
        one = at.contents
        norm = None if one.norm != one.norm else one.norm
        saved = one.saved if one.saved >= 0 else None
        shown = Progress(one.sweep, one.sweeps, one.first, norm, one.seconds, one.glups, saved)
        try:
            if self._tell is not None:
                self._tell(shown)
            elif self._bar is not None:
                self._bar.total, self._bar.n = shown.sweeps, shown.sweep
                self._bar.set_postfix_str(
                    f"{shown.glups:.4g} GLUP/s" + (f", norm {norm:.3g}" if norm is not None else "")
                )
        except BaseException as error:  # no exception may cross the C interface: _stop ends the run
            self._error = error

    def _stop(self, _user: Any) -> int | None:
        return ctypes.addressof(self._reason) if self._is_interrupted or self._error is not None else None

    def _interrupt(self, number: int, _frame: Any) -> None:
        self._is_interrupted = True
        signal.signal(number, signal.SIG_DFL)  # the second one ends the process

    def __enter__(self) -> None:
        if self._make_bar is not None:
            self._bar = self._make_bar()
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._interrupt)

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
        if self._bar is not None:
            self._bar.close()

    def raise_what_ended_the_run(self) -> None:
        if self._error is not None:
            raise self._error
        if self._is_interrupted:
            raise KeyboardInterrupt
