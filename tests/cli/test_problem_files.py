# SPDX-License-Identifier: Apache-2.0
"""Problem files from outside: `problem show`, `solve FILE`. What `problem` says: unit/test_help.cpp."""

import json
import re

import numpy as np
import pytest

from command import run

WAVE = """\
axes = 1
cells = 50
lower = 0
upper = 1
[parameters]
dt = "0.5*dx"
[fields.u]
initial = "exp(-200*(x - 0.5)^2)"
boundary = { value = "0.1*sin(40*t)" }
[fields.u_old]
initial = "exp(-200*(x - 0.5)^2)"
[coefficients]
c2 = { file = "c2.npy" }
[update]
u = "2*u - u_old + dt^2*c2*laplace(u)"
u_old = "u"
[stop]
time = 0.4
"""


def solve_json(*words, cwd):
    end = run("solve", *words, "--quiet", "--json", "-", cwd=cwd)
    assert end.code == 0, end.err
    return json.loads(end.out)


def test_a_copy_of_a_built_in_problem_gives_its_checksum(tmp_path):
    (tmp_path / "mine.toml").write_text(run("problem", "show", "laplace").out)
    own = solve_json("laplace", "--cells", "40x30", "--sweeps", "9", cwd=tmp_path)
    copy = solve_json("mine.toml", "--cells", "40x30", "--sweeps", "9", cwd=tmp_path)
    assert copy["problem"] == "mine"
    assert copy["checksum"] == own["checksum"] and copy["norm_history"] == own["norm_history"]


def test_a_wave_with_a_coefficient_from_a_file(tmp_path):
    """Paths are relative to the file; u_old is the level before; t moves the walls."""
    folder = tmp_path / "there"
    folder.mkdir()
    c2 = np.linspace(0.5, 1.5, 50)
    np.save(folder / "c2.npy", c2)
    (folder / "wave.toml").write_text(WAVE)
    dx = 1 / 50
    dt = 0.5 * dx
    x = 0 + (np.arange(50) + 0.5) * dx
    u = np.exp(-200 * (x - 0.5) ** 2)
    old = u.copy()
    for sweep in range(40):
        wall = 0.1 * np.sin(40 * (sweep * dt))
        padded = np.concatenate([[2 * wall - u[0]], u, [2 * wall - u[-1]]])
        change = (padded[:-2] - 2 * u + padded[2:]) / dx**2
        u, old = 2 * u - old + dt**2 * c2 * change, u
    report = solve_json("there/wave.toml", "--ranks", "3", "--output", "u.npy", "--verify", cwd=tmp_path)
    assert report["sweeps"] == 40 and report["verified"] is True
    assert np.allclose(np.load(tmp_path / "u.npy"), u, rtol=0, atol=1e-12)
    assert np.isclose(report["fields"]["u_old"]["sum"], old.sum(), atol=1e-11)


def test_the_rock_of_acoustic_from_a_file(tmp_path):
    """As the comment in the shelf's own text says; the speeds of its formula give its bits."""
    x, y = (np.arange(400) + 0.5) * 10, ((np.arange(300) + 0.5) * 10)[:, None]
    speeds = np.where(y < 1000, 1500, np.where(y < 2000 + 0.1 * x, 2500, 4000)).astype(np.float32)
    np.save(tmp_path / "velocity.npy", speeds)
    text = run("problem", "show", "acoustic").out
    formula = re.search(r"^c = \{ value = .* \}$", text, re.MULTILINE)[0]
    (tmp_path / "mine.toml").write_text(text.replace(formula, 'c = { file = "velocity.npy" }'))
    built_in = solve_json("acoustic", "--sweeps", "100", cwd=tmp_path)
    mine = solve_json("./mine.toml", "--sweeps", "100", "--ranks", "2", cwd=tmp_path)
    assert mine["fields"] == built_in["fields"]


def test_solve_explains_what_memory_allows():
    text = run("solve", "laplace", "--cells", "4000x4000", "--backend", "cpu", "--explain").out
    time, unit, rate = re.search(
        r"time here +at least ([\d.]+) (us|ms) a sweep, as memory is copied at ([\d.]+) GB/s"
        r" \(\d+ cores?\)", text).groups()
    seconds = float(time) * {"us": 1e-6, "ms": 1e-3}[unit]
    assert seconds * float(rate) * 1e9 == pytest.approx(4000 * 4000 * 16, rel=0.02)


def test_what_is_not_finite_is_a_wrong_result(tmp_path):
    (tmp_path / "p.toml").write_text(
        "axes = 2\ncells = [9, 8]\n[fields.u]\ninitial = 1\n[fields.v]\ninitial = 'i + 10*j'\n"
        "[update]\nu = 'u'\nv = 'select(v >= 52, 1/0, v)'\n[stop]\nsweeps = 3\n")
    end = run("solve", "p.toml", "--ranks", "3", "--json", "r.json", cwd=tmp_path)
    assert end.code == 1 and "field 'v' is not finite after 3 sweeps, first at cell (2, 5)" in end.err
    assert json.loads((tmp_path / "r.json").read_text())["not_finite"] == {"field": "v", "cell": [2, 5]}
