# SPDX-License-Identifier: Apache-2.0
"""Problem files from outside: `problem list|show|check`, `solve FILE`, and mistakes in files."""

import json
import re

import numpy as np
import pytest

from command import run

USAGE = 2

GRAY_SCOTT = """\
title = "two species that react"
axes = 2
cells = [40, 30]
precision = "f32"
[parameters]
F = 0.035
k = 0.06
dt = 1
[fields.u]
initial = "select(abs(i - nx/2) < 5 and abs(j - ny/2) < 5, 0.5, 1)"
boundary = "periodic"
[fields.v]
initial = "select(abs(i - nx/2) < 5 and abs(j - ny/2) < 5, 0.25, 0) + 0.01*noise()"
boundary = "periodic"
[locals]
reaction = "u*v^2"
[update]
u = "u + dt*(0.16*laplace(u) - reaction + F*(1 - u))"
v = "v + dt*(0.08*laplace(v) + reaction - (F + k)*v)"
[stop]
sweeps = 60
norm = { of = "v", kind = "max" }
"""

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


def test_lists_and_shows_the_built_in_problems():
    names = re.findall(r"^  (\S+) ", run("problem", "list").out, flags=re.MULTILINE)
    assert names[:4] == ["laplace", "jacobi", "heat", "star7"]
    for name in names:
        end = run("problem", "show", name)
        assert end.code == 0 and "[update" in end.out


@pytest.mark.parametrize("name", ["laplace", "jacobi", "heat", "star7"])
def test_a_copy_of_a_built_in_problem_gives_its_checksum(name, tmp_path):
    (tmp_path / "mine.toml").write_text(run("problem", "show", name).out)
    cells = {"laplace": "40x30", "jacobi": "30x20", "heat": "12", "star7": "9x8x7"}[name]
    own = solve_json(name, "--cells", cells, "--sweeps", "9", cwd=tmp_path)
    copy = solve_json("mine.toml", "--cells", cells, "--sweeps", "9", cwd=tmp_path)
    assert copy["problem"] == "mine"
    assert copy["checksum"] == own["checksum"] and copy["norm_history"] == own["norm_history"]


def test_two_fields_are_the_same_for_every_way(tmp_path):
    (tmp_path / "gs.toml").write_text(GRAY_SCOTT)
    alone = solve_json("gs.toml", cwd=tmp_path)
    assert list(alone["fields"]) == ["u", "v"]
    assert alone["checksum"] == alone["fields"]["u"]["checksum"]
    for way in (["--backend", "reference"], ["--ranks", "4", "--process-grid", "2x2", "--verify"],
                ["--ranks", "2", "--halo-depth", "3"], ["--ranks", "3", "--schedule", "overlap"]):
        other = solve_json("gs.toml", *way, cwd=tmp_path)
        assert other["fields"] == alone["fields"] and other["norm_history"] == alone["norm_history"]


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
    for ranks in ("1", "3"):
        report = solve_json("there/wave.toml", "--ranks", ranks, "--output", "u.npy", "--verify",
                            cwd=tmp_path)
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
    for ranks in ("1", "4"):
        mine = solve_json("./mine.toml", "--sweeps", "100", "--ranks", ranks, cwd=tmp_path)
        assert mine["fields"] == built_in["fields"]
    speeds[:60] = 1600  # where the wave is
    np.save(tmp_path / "velocity.npy", speeds)
    other = solve_json("./mine.toml", "--sweeps", "100", cwd=tmp_path)
    assert other["checksum"] != built_in["checksum"]


def test_check_writes_formulas_out(tmp_path):
    (tmp_path / "gs.toml").write_text(GRAY_SCOTT)
    text = run("problem", "check", "gs.toml", "--cells", "8x9", cwd=tmp_path).out
    assert "8x9 in f32" in text and "u[-1,0] + u[1,0]" in text
    assert re.search(r"per cell +\d+ operations, 16 bytes", text)
    assert re.search(r"boundary +u: x periodic, y periodic", text)


def test_solve_explains_what_it_would_run(tmp_path):
    (tmp_path / "gs.toml").write_text(GRAY_SCOTT)
    text = run("solve", "gs.toml", "--cells", "8x9", "--set", "F=0.5", "--explain", cwd=tmp_path).out
    assert "8x9 in f32" in text and "0.5*(1 - u)" in text and "NVRTC" in text
    assert "CPUs and GPUs" in run("solve", "star7", "--explain").out


def test_solve_explains_what_memory_allows(tmp_path):
    text = run("solve", "laplace", "--cells", "4000x4000", "--backend", "cpu", "--explain").out
    time, unit, rate = re.search(
        r"time here +at least ([\d.]+) (us|ms) a sweep, as memory is copied at ([\d.]+) GB/s"
        r" \(\d+ cores?\)", text).groups()
    seconds = float(time) * {"us": 1e-6, "ms": 1e-3}[unit]
    assert seconds * float(rate) * 1e9 == pytest.approx(4000 * 4000 * 16, rel=0.02)
    assert "time here" not in run("problem", "check", "laplace").out
    assert "  halo          x 1, y 1, exchanged before each sweep\n" in run(
        "solve", "laplace", "--cells", "64x64", "--explain").out
    assert "  halo          x 12, y 12, exchanged every 3 sweeps\n" in run(
        "solve", "acoustic", "--cells", "64x64", "--halo-depth", "3", "--explain").out


def test_each_field_is_read_and_written(tmp_path):
    (tmp_path / "gs.toml").write_text(GRAY_SCOTT)
    whole = solve_json("gs.toml", "--sweeps", "30", cwd=tmp_path)
    solve_json("gs.toml", "--sweeps", "10", "--output", "u.npy", "--output", "v=v.npy", "--output",
               "v=v.png", "--output", "all.vti", "--ranks", "2", cwd=tmp_path)
    assert (tmp_path / "v.png").stat().st_size > 1000
    assert b'Name="u"' in (tmp_path / "all.vti").read_bytes()
    assert np.load(tmp_path / "v.npy").shape == (30, 40)
    rest = solve_json("gs.toml", "--sweeps", "20", "--initial", "u.npy", "--initial", "v=v.npy",
                      cwd=tmp_path)
    assert rest["fields"] == whole["fields"]
    for words, text in ((["--output", "w=w.npy"], "'w'.*u, v"),
                        (["--initial", "a.npy", "--initial", "b.npy"], "twice"),
                        (["--output", "gs.toml"], "ends in none"),
                        (["--output", "u.npy", "--output", "v=./u.npy"], "same file|one file|u.npy")):
        end = run("solve", "gs.toml", "--cells", "40x30", *words, cwd=tmp_path)
        assert end.code == USAGE and re.search(text, end.err), end.err


def test_parameters_of_a_file_are_set_and_those_below_follow(tmp_path):
    (tmp_path / "p.toml").write_text(
        "axes = 1\ncells = 4\n[parameters]\na = 1\nb = '2*a'\n[fields.u]\ninitial = 'b'\n"
        "[update]\nu = 'u + a'\n[stop]\nsweeps = 1\n")
    assert solve_json("p.toml", cwd=tmp_path)["sum"] == 12
    assert solve_json("p.toml", "--set", "a=10", cwd=tmp_path)["sum"] == 120
    assert solve_json("p.toml", "--set", "b=0", cwd=tmp_path)["sum"] == 4


@pytest.mark.parametrize("old, new, words", [
    ("reaction +", "reactoin +", [r"gs\.toml:18:\d+:", "reactoin", "do you mean 'reaction'", r"\^"]),
    ("boundary = \"periodic\"\n[locals]", "boundary = \"cyclic\"\n[locals]",
     [r"gs\.toml:14", "no boundary 'cyclic'", "reflect"]),
    ("[update]", "[updates]", [r"gs\.toml:17", "updates", "do you mean 'update'"]),
    ("cells = [40, 30]", "cells = [40]", ["1 numbers? of cells", "2 axes"]),
    ("sweeps = 60", "tolerance = 1e-3", ["when to stop"]),
    ("axes = 2", "axes = ", [r"gs\.toml:2"]),
    ("dt = 1", "dt = 1\nlaplace = 2", ["'laplace' has a meaning already"]),
    ("u = \"u + dt", "u = \"exp(u) + v[9,0] + dt", [r"gs\.toml:18", "8 are the most"]),
])
def test_mistakes_are_shown_with_their_line(old, new, words, tmp_path):
    assert old in GRAY_SCOTT
    (tmp_path / "gs.toml").write_text(GRAY_SCOTT.replace(old, new, 1))
    for command in (["problem", "check", "gs.toml"], ["solve", "gs.toml", "--ranks", "2"]):
        end = run(*command, cwd=tmp_path)
        assert end.code == USAGE and end.out == ""
        for word in words:
            assert re.search(word, end.err), (word, end.err)


def test_a_file_that_is_not_there():
    for words in (["solve", "nothing.toml"], ["problem", "check", "./nothing"],
                  ["plan", "nothing.toml"]):
        end = run(*words)
        assert end.code == USAGE and "nothing" in end.err and "No such file" in end.err


@pytest.mark.parametrize("ranks", ["1", "3"])
def test_what_is_not_finite_is_a_wrong_result(ranks, tmp_path):
    (tmp_path / "p.toml").write_text(
        "axes = 2\ncells = [9, 8]\n[fields.u]\ninitial = 1\n[fields.v]\ninitial = 'i + 10*j'\n"
        "[update]\nu = 'u'\nv = 'select(v >= 52, 1/0, v)'\n[stop]\nsweeps = 3\n")
    end = run("solve", "p.toml", "--ranks", ranks, "--json", "r.json", cwd=tmp_path)
    assert end.code == 1 and "field 'v' is not finite after 3 sweeps, first at cell (2, 5)" in end.err
    assert json.loads((tmp_path / "r.json").read_text())["not_finite"] == {"field": "v", "cell": [2, 5]}


@pytest.mark.parametrize("words, sweeps", [
    ([], 64), (["--output", "u.npy", "--output-every", "7"], 14), (["--sum", "u", "--series-every", "9"], 9),
    (["--probe", "0,0", "--series-every", "1"], 64), (["--sweeps", "10"], 10),
])
@pytest.mark.parametrize("ranks", ["1", "3"])
def test_what_is_not_finite_ends_the_run(words, sweeps, ranks, tmp_path):
    """v becomes infinite in sweep 9; the norm is of u. From then on a look at all fields finds it."""
    (tmp_path / "p.toml").write_text(
        "axes = 2\ncells = [9, 8]\n[parameters]\ndt = 1\n[fields.u]\ninitial = 1\n[fields.v]\ninitial = 'i + 10*j'\n"
        "[update]\nu = 'u'\nv = 'select(v >= 52 and t >= 8, 1/0, v)'\n[stop]\nsweeps = 1000\nnorm = 'max'\n")
    end = run("solve", "p.toml", "--ranks", ranks, "--json", "r.json", *words, cwd=tmp_path)
    assert end.code == 1, end.err
    assert f"field 'v' is not finite after {sweeps} sweeps, first at cell (2, 5)" in end.err
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["sweeps"] == sweeps and len(report["norm_history"]) == sweeps
    if "--output" in words:
        assert sorted(p.name for p in tmp_path.glob("*.npy")) == [f"u-{n:06}.npy" for n in (0, 7, 14)]


def test_plan_counts_the_messages_of_a_file(tmp_path):
    (tmp_path / "gs.toml").write_text(GRAY_SCOTT)
    end = run("plan", "gs.toml", "--ranks", "2", "--json", "p.json", cwd=tmp_path)
    assert end.code == 0
    # Two fields of f32, two rows of 40 cells: periodic.
    assert json.loads((tmp_path / "p.json").read_text())["process_grids"][0]["bytes"] == 2 * 2 * 40 * 4
