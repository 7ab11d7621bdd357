# SPDX-License-Identifier: Apache-2.0
"""Solves, on any number of ranks."""

import os
import pathlib
import re
import signal
import sys
import threading
import time
import types

import halocline as hc
import numpy as np
import pytest
from mpi4py import MPI
from test_launch import as_no_rank  # noqa: F401

WORLD = MPI.COMM_WORLD
OPTIONS = pathlib.Path(__file__).parents[2] / "docs" / "options.md"
DECAY = hc.Problem(
    """axes = 2
cells = [12, 10]
[parameters]
rate = { value = 0.5, help = "of the decay" }
[fields.u]
initial = "1 + i + 100*j"
boundary = "periodic"
[update]
u = "u - rate*u"
[stop]
sweeps = 3
norm = "max"
""",
    "decay",
)


ENDLESS = {"backend": "cpu", "threads": 1, "norm_every": 1000, "sweeps": 100_000_000}


def own(grid):
    return tuple(one.stop - one.start for one in grid.owned)


def test_arrays_are_a_ranks_part_of_the_result():
    result = hc.solve(DECAY, backend="cpu")
    rows, columns = result.owned
    expected = (1 + np.arange(12) + 100 * np.arange(10)[:, None])[rows, columns] / 8
    np.testing.assert_array_equal(result["u"], expected)
    assert list(result) == ["u"] and len(result) == 1 and result.sweeps == 3 and not result.converged
    assert result.norms.shape == (3, 2) and result.norms[0, 1] == 912 / 2
    np.testing.assert_array_equal(result.coordinates()[1], np.arange(columns.start, columns.stop) + 0.5)


def test_the_report_is_on_every_rank():
    result = hc.solve("laplace", cells=(24, 20), sweeps=7, norm="max", sums=["u"], backend="cpu")
    alone = hc.solve("laplace", cells=(24, 20), sweeps=7, comm=MPI.COMM_SELF, backend="reference")
    assert result.checksum == alone.checksum and result.report["ranks"] == WORLD.size
    assert "7 sweeps" in str(result) and str(result) in result._repr_html_().replace("&gt;", ">")
    assert list(result.series) == ["sweep", "sum(u)"] and result.series["sweep"][-1] == 7
    assert result.seconds["total"] > 0 and result.glups > 0


def test_own_arrays_start_and_get_the_result():
    whole = hc.solve("laplace", cells=(24, 20), sweeps=20, backend="cpu", precision="f64", norm="max")
    grid = hc.Grid((24, 20), halo=(2, 1))
    u = grid.zeros()
    first = hc.solve("laplace", grid=grid, arrays={"u": ("result", u)}, backend="cpu", sweeps=12)
    assert first["u"] is u
    part = np.ascontiguousarray(u[grid.inner])
    second = hc.solve("laplace", grid=grid, arrays={"u": part}, backend="cpu", sweeps=8, norm="max")
    assert second.checksum == whole.checksum and second["u"] is part
    np.testing.assert_array_equal(part, whole["u"] if own(grid) == whole["u"].shape else part)
    third = hc.solve("laplace", grid=grid, arrays={"u": ("start", u)}, backend="cpu", sweeps=8)
    np.testing.assert_array_equal(third["u"], part)
    assert third["u"].shape == part.shape and third.checksum == whole.checksum
    assert u[0, 0] == 0  # a halo cell


def test_parameters_and_what_is_solved():
    assert hc.solve(DECAY, parameters={"rate": 0.75}, sweeps=1, backend="cpu").norms[0, 1] == 912 * 0.75
    facts = hc.check(DECAY, cells=(6, 5), ranks=2)
    assert facts["cells"] == (6, 5) and facts["fields"] == ["u"] and facts["sweeps"] == 3
    assert facts["parameters"] == {"rate": {"value": 0.5, "help": "of the decay"}}


# A value of each option, those that cannot be given with others by themselves.
VALUES = {
    "cells": (10, 12),
    "cells_per_rank": (5, 6),
    "sweeps": 4,
    "tolerance": 1e-300,
    "norm": "l2",
    "norm_every": 2,
    "precision": "f32",
    "parameters": {"rate": 0.25},
    "seed": 3,
    "initial": "FOLDER/start.npy",
    "process_grid": None,  # below: it depends on the number of ranks
    "threads": 1,
    "backend": "cpu",
    "memory": "host",
    "layout": "array",
    "simd": "scalar",
    "formulas": "interpreted",
    "transport": "auto",
    "schedule": "sequential",
    "graph": "off",
    "writing": "between",
    "tuning_file": "FOLDER/tuned.json",
    "tuning_seconds": 0,
    "halo_depth": 2,
    "sweeps_per_pass": "auto",
    "proofs": "FOLDER/proofs.json",
    "checkpoint": "FOLDER/saved",
    "checkpoint_every": 2,
    "restart": "FOLDER/saved",
    "verify": True,
    "verify_every": 2,
    "baseline": False,
    "output": ["FOLDER/u.npy", "u=FOLDER/u.png"],
    "output_every": 2,
    "ranges": "u=0,1",
    "sums": ["u"],
    "probes": ["u@3,4", "5,6"],
    "series": "FOLDER/series.csv",
    "series_every": 2,
    "trace": "FOLDER/trace.json",
}
NEEDS = {
    "checkpoint_every": ["checkpoint"],
    "output_every": ["output"],
    "ranges": ["output"],
    "series": ["sums"],
    "series_every": ["sums"],
    "norm_every": ["norm"],
    "restart": ["checkpoint"],
}


@pytest.fixture
def folder(tmp_path):
    return pathlib.Path(WORLD.bcast(str(tmp_path)))


def test_every_option_has_a_value_here():
    names = re.findall(r"^\| `(\w+)` \| `--", OPTIONS.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(names) == sorted(VALUES)


@pytest.mark.parametrize("name", sorted(VALUES))
def test_options_are_those_of_the_command(name, folder):
    def value_of(name):
        if name == "process_grid":
            return (WORLD.size, 1)
        value = VALUES[name]
        if isinstance(value, list):
            return [one.replace("FOLDER", str(folder)) for one in value]
        return value.replace("FOLDER", str(folder)) if isinstance(value, str) else value

    if WORLD.rank == 0:
        np.save(folder / "start.npy", np.ones((10, 12)))
    WORLD.Barrier()
    options = {one: value_of(one) for one in [name, *NEEDS.get(name, [])]}
    if name == "restart":
        hc.solve(DECAY, backend="cpu", checkpoint=options.pop("checkpoint"), sweeps=2)
        options["sweeps"] = 3
    result = hc.solve(DECAY, **{"backend": "cpu", **options})
    expected = options.get("sweeps", 3)
    assert result.sweeps == expected
    if name == "restart":
        assert result.report["restart"]["sweeps"] == 2
    if name == "process_grid":
        assert result.report["process_grid"] == [1, WORLD.size]  # x first


def test_progress_is_told_and_its_exceptions_end_the_run():
    seen = []

    def stop_by_error(at):
        seen.append(at)
        raise ZeroDivisionError("enough")

    if WORLD.rank == 0:
        with pytest.raises(ZeroDivisionError, match="enough"):
            hc.solve(DECAY, progress=stop_by_error, **ENDLESS)
        assert seen[0].sweeps == 100_000_000 and 0 < seen[0].sweep and seen[0].saved is None
    else:
        assert hc.solve(DECAY, progress=stop_by_error, **ENDLESS).report["stopped_by"] == "Ctrl-C"
        assert not seen


def test_the_end_is_told():
    told = []
    hc.solve(DECAY, backend="cpu", progress=told.append)
    assert [(at.sweep, at.sweeps, at.norm) for at in told] == ([(3, 3, 912 / 8)] if WORLD.rank == 0 else [])


def test_a_bar_needs_tqdm(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(hc.UnavailableError, match="pip install tqdm"):
        hc.solve(DECAY, progress=True)


class Bar:
    """As tqdm's; its user loses patience."""

    made = []

    def __init__(self, unit, leave):
        self.n, self.total, self.text, self.is_closed = 0, None, "", False
        self.made.append(self)

    def set_postfix_str(self, text):
        if not self.text:  # a second one would end the process
            os.kill(os.getpid(), signal.SIGINT)
        self.text = text

    def close(self):
        self.is_closed = True


def test_a_bar_shows_how_far_the_run_is_and_ctrl_c_ends_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", types.SimpleNamespace(tqdm=Bar))
    before = signal.getsignal(signal.SIGINT)
    Bar.made.clear()
    if WORLD.rank == 0:
        with pytest.raises(KeyboardInterrupt):
            hc.solve(DECAY, progress=True, **ENDLESS)
        (bar,) = Bar.made
        assert 0 < bar.n < bar.total == 100_000_000 and "GLUP/s, norm " in bar.text and bar.is_closed
    else:
        assert hc.solve(DECAY, progress=True, **ENDLESS).sweeps < 100_000_000 and not Bar.made
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_waits_for_the_ranks_that_one_process_started(as_no_rank, tmp_path):  # noqa: F811
    """Sent to this process alone, as notebooks do."""
    folder = tmp_path / "saved"
    folder.mkdir()
    options = {"cells": (64, 64), "checkpoint": str(folder), "checkpoint_every": 1000, **ENDLESS}

    def interrupt():
        while not any(folder.iterdir()):
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    waiting = threading.Thread(target=interrupt, daemon=True)
    waiting.start()
    with pytest.raises(KeyboardInterrupt):
        hc.solve("laplace", ranks=2, **options)
    saved = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
    time.sleep(0.5)
    assert saved and saved == {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
    assert not (folder / "stop").exists()


def test_one_process_starts_ranks(as_no_rank, tmp_path):  # noqa: F811
    options = {
        "backend": "cpu",
        "cells": (20, 24),
        "sweeps": 30,
        "parameters": None,
        "sums": ["u"],
        "verify": True,
        "norm": "max",
    }
    alone, several = hc.solve("laplace", **options), hc.solve("laplace", ranks=2, **options)
    assert several.report["ranks"] == 2 and several.checksum == alone.checksum and "verified" in str(several)
    np.testing.assert_array_equal(several["u"], alone["u"])
    every = hc.solve(
        DECAY, ranks=2, backend="cpu", parameters={"rate": 0.25}, output=str(tmp_path / "u.npy"), output_every=1
    )
    np.testing.assert_array_equal(every["u"], np.load(tmp_path / "u-000003.npy"))
    assert every.norms[0, 1] == 912 * 0.25
    u = np.ones((10, 12), np.float32)
    ones = hc.solve(DECAY, ranks=2, backend="cpu", arrays={"u": u})
    assert ones["u"] is u and u.dtype == np.float32 and (u == 0.125).all()
    still = hc.solve(DECAY, ranks=2, backend="cpu", arrays={"u": ("start", u)})
    assert (u == 0.125).all() and (still["u"] == 0.125 / 8).all()
    with pytest.raises(hc.UsageError, match="leave grid="):
        hc.solve(DECAY, ranks=2, comm=MPI.COMM_SELF)
    with pytest.raises(hc.UsageError, match="ranks"):
        hc.solve(DECAY, ranks=10**6)
    with pytest.raises(hc.UsageError, match="of the whole domain .10, 12."):
        hc.solve(DECAY, ranks=2, arrays={"u": np.zeros(3)})


def test_mistakes_are_told():
    with pytest.raises(hc.UsageError, match="mine:2:1.*colour"):
        hc.solve(hc.Problem("axes = 2\ncolour = 1\n", "mine"))
    with pytest.raises(hc.UsageError, match="laplacian"):
        hc.check("laplacian")
    with pytest.raises(hc.UsageError, match="'swepes'.*'sweeps'"):
        hc.solve(DECAY, swepes=3)
    with pytest.raises(hc.UsageError, match="no field or coefficient 'w'; it has: u"):
        hc.solve(DECAY, arrays={"w": np.zeros(3)})
    with pytest.raises(hc.UsageError, match="initial= takes the path.*arrays="):
        hc.solve(DECAY, initial=np.zeros((10, 12)))
    mixed = {"u": np.zeros((4, 4), np.float32), "v": np.zeros((4, 4))}
    with pytest.raises(hc.UsageError, match="'u' has values of type <f4, 'v' of <f8; a solve has one precision"):
        hc.solve("gray_scott", arrays=mixed)
    with pytest.raises(hc.UsageError, match="has shape .3,.; this rank's part"):
        hc.solve(DECAY, arrays={"u": np.zeros(3)})
    grid = hc.Grid((10, 12))
    with pytest.raises(hc.UsageError, match="leave cells= out"):
        hc.solve(DECAY, grid=grid, cells=(10, 12))
    with pytest.raises(hc.UsageError, match="leave comm= out"):
        hc.solve(DECAY, grid=grid, comm=WORLD)
    with pytest.raises(hc.UsageError, match="takes a dictionary"):
        hc.solve(DECAY, parameters=1)
    with pytest.raises(hc.UsageError, match="type <i8; a solve takes float32 or float64"):
        hc.solve(DECAY, arrays={"u": np.zeros(own(hc.Grid((12, 10))), int)})
    with pytest.raises(hc.UsageError, match="give halocline.Problem"):
        hc.solve(DECAY.text)
    with pytest.raises(hc.UsageError, match="a name, the path of a file or a Problem"):
        hc.solve(None)
    with pytest.raises(hc.UsageError, match="float|f32|double"):
        hc.solve(DECAY, grid=grid, precision="f32", arrays={"u": grid.zeros("float64")})


def test_xarray_gets_coordinates():
    pytest.importorskip("xarray")
    grid = hc.Grid((10, 12))
    data = hc.solve(DECAY, backend="cpu", grid=grid, arrays={"u": ("result", grid.zeros())}).to_xarray()
    assert data["u"].dims == ("y", "x") and data["u"].shape == own(grid)
    assert data.attrs["problem"] == "decay"
