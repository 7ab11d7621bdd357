# SPDX-License-Identifier: Apache-2.0
"""reference.py has known values of built-in problems, and solve() has its bits; random_files.py is
the same for a seed. $RANKS_TESTS is the program that solves; HALOCLINE_TEST_ALL=1 takes more files."""

import json
import math
import os
import pathlib
import subprocess
import sys

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("tomllib")  # of Python 3.11

HERE = pathlib.Path(__file__).resolve().parent
PROBLEMS = HERE.parent.parent / "problems"
sys.path.insert(0, str(HERE))
from compare import random_run, run_by_words, run_table, shelf  # noqa: E402
from random_files import random_file  # noqa: E402
from reference import Problem, State, Wrong, solve  # noqa: E402


ALL = os.environ.get("HALOCLINE_TEST_ALL") == "1"


def python(script, *arguments, timeout=400):
    return subprocess.run([sys.executable, HERE / script, *map(str, arguments)], capture_output=True, text=True,
                          timeout=timeout)


def run(name, *options):
    done = python("reference.py", PROBLEMS / f"{name}.toml", *options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_star7():
    result = run("star7", "--cells", "16x12x8", "--sweeps", 5)
    u = result["fields"]["u"]
    assert u["checksum"] == "dee8e0b50a85dd37"
    assert u["sum"] == pytest.approx(764.566981014151, rel=1e-12)
    assert (u["min"], u["max"]) == pytest.approx((0.329363590125248, 0.665718940790677), rel=1e-14)
    assert result["norm_history"] == []


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_heat(axes):
    state, _ = solve(Problem((PROBLEMS / "heat.toml").read_text(), cells=[9] * axes))
    middle = state.cells_of("u").reshape([9] * axes)[(4,) * (axes - 1)]
    decay = (1 - 4 * 0.02 * axes * math.sin(math.pi / 20) ** 2) ** 3
    expected = [decay * math.sin(math.pi * (i + 1) / 10) for i in range(9)]
    assert list(middle) == pytest.approx(expected, rel=1e-14)
    if axes == 1:
        known = [0.307205621017285, 0.584339815421977, 0.804274757358271, 0.945481682332598, 0.994138272681972]
        assert list(middle) == pytest.approx([*known, *known[-2::-1]], rel=1e-14)


def one_cell(update, boundary='"reflect"', precision="f64", initial="x", more=""):
    """The first cell of u after a sweep. There are 4 cells; x is 0.125, 0.375, 0.625, 0.875."""
    text = f"""
axes = 1
cells = 4
upper = 1
precision = "{precision}"
[parameters]
dt = 0.5
[fields.u]
initial = "{initial}"
boundary = {{ "x-" = {boundary}, "x+" = "reflect" }}
{more}
[update]
u = "{update}"
[stop]
sweeps = 1
"""
    return solve(Problem(text))[0].cells_of("u")[0]


@pytest.mark.parametrize("domain, lower, upper, spacing", [
    ("lower = -1\nupper = 1", [-1, -1], [1, 1], [0.5, 0.25]),
    ("lower = [0, -1]\nupper = { 2 = 1, 3 = 2 }", [0, -1], [1, 1], [0.25, 0.25]),
    ("parameters.dx = 0.5", [0, 0], [2, 4], [0.5, 0.5]),
    ("parameters.dy = 0.5", [0, 0], [4, 4], [1, 0.5]),
])
def test_domains(domain, lower, upper, spacing):
    problem = Problem(f"axes = 2\ncells = [4, 8]\n{domain}\nfields.u.initial = 0\nupdate.u = \"u\"\nstop.sweeps = 1\n")
    assert (problem.lower, problem.upper, problem.spacing) == (lower, upper, spacing)


def test_lists_have_a_value_for_each_axis():
    for domain in ("lower = [0]", "upper = [1, 1, 1]"):
        with pytest.raises(Wrong, match="values for 2 axes"):
            Problem(f"axes = 2\ncells = 4\n{domain}\n")


@pytest.mark.parametrize("boundary, update, value", [
    ('"reflect"', "u[-2]", 0.375),
    ('{ outside = "x" }', "u[-2]", -0.375),
    ('{ value = "x + 1" }', "u[-1]", 2 - 0.125),
    ("{ derivative = 2 }", "u[-2]", 0.375 + 2 * 0.75),
    ("{ mixed = { a = 2, b = 0, c = 3 } }", "u[-1]", 3 - 0.125),
    ("{ mixed = { a = 0, b = 1, c = 3 } }", "u[-1]", (3 + 4 * 0.125) / 4),
    ('{ value = "x + t" }', "u[-1]", -0.125),
])
def test_ghosts(boundary, update, value):
    assert one_cell(update, boundary) == value


def test_values_of_files(tmp_path):
    np.save(tmp_path / "u.npy", np.arange(6.0).reshape(2, 3))
    np.save(tmp_path / "D.npy", 10 * np.arange(6.0).reshape(2, 3))
    text = """
axes = 2
cells = [3, 2]
[fields.u]
initial = { file = "u.npy" }
boundary = { x = "reflect", y = "periodic" }
[coefficients.D]
file = "D.npy"
[update]
u = "u + D[-1,-1]"
[stop]
sweeps = 1
"""
    (tmp_path / "p.toml").write_text(text)
    u = solve(Problem(text, folder=tmp_path))[0].cells_of("u")
    # Beyond x- the nearest cell inside, beyond y- the cell imaged.
    assert list(u) == [0 + 30, 1 + 30, 2 + 40, 3 + 0, 4 + 0, 5 + 10]


def test_fma_rounds_once():
    assert one_cell("fma(u, u, -1)", initial="1 + 2^-13", precision="f32") == 2.0**-12 + 2.0**-26
    assert one_cell("u*u - 1", initial="1 + 2^-13", precision="f32") == 2.0**-12
    # Just above the middle between two numbers: by way of fp64 it would become the even one.
    assert one_cell("fma(u, u, 2^-60)", initial="1 + 2^-12", precision="f32") == 1 + 2.0**-11 + 2.0**-23


def test_numbers_are_of_fp64_and_rounded_once():
    third = np.float32(1 / 3)
    assert one_cell("(1/3*3)*u^1", precision="f32", initial="1") == 1
    assert one_cell("(u/3)*3 - 1/3*u", precision="f32", initial="1") == third * np.float32(3) - third
    assert one_cell("u*(0.1 + 0.2)", precision="f32", initial="1") == np.float32(0.1 + 0.2)


def test_order_of_operations():
    assert one_cell("-u^2", initial="3") == -9
    assert one_cell("2^3^2*u", initial="1") == 512
    assert one_cell("1 - u - 2", initial="3") == -4
    assert one_cell("select(not u < 1 and u < 4 or u == 9, 5, 6)", initial="3") == 5


@pytest.mark.parametrize("update", ["u + alfa", "u +", "u < 1", "u[1,0]", "u[9]", "x[1]", "noise()", "min(u)",
                                    "ddy(u)", "laplace(u, 3)"])
def test_refuses(update):
    with pytest.raises(Wrong):
        one_cell(update)


def test_random_files_are_the_same_for_a_seed():
    for seed in range(20 if ALL else 3):
        once = python("random_files.py", seed).stdout
        assert once == random_file(seed) != random_file(seed + 1)


def test_random_files_are_valid_and_stay_finite():
    for seed in range(100 if ALL else 10):
        state, _ = solve(Problem(random_file(seed)), sweeps=20)
        assert isinstance(state, State)
        for name in state.fields:
            cells = state.cells_of(name)
            assert abs(cells).max() < 1e6, (seed, name)


@pytest.fixture
def program():
    path = os.environ.get("RANKS_TESTS", "")
    if not os.access(path, os.X_OK):
        pytest.skip("RANKS_TESTS names no program")
    return path


# Other precisions, seeds and parameters, parts of every shape, and threads where they share much.
WAYS = """
solve laplace --cells 37x23 --precision f32 --ranks 4 --tolerance 0.06
solve laplace --cells 13x11x9 --ranks 6 --seed 7 --tolerance 0.05
solve laplace --cells 19x14x12 --precision f32 --ranks 8 --process-grid 2x2x2 --halo-depth 3 --sweeps 20 --tolerance 0
solve star7 --cells 10x9x14 --precision f32 --ranks 3 --halo-depth 2 --sweeps 9 --norm max
solve star7 --cells 6x5x7 --ranks 2 --sweeps 6 --seed 99 --set centre=0.25 --set side=0.125 --norm max
solve laplace --cells 1x50 --ranks 5 --sweeps 30
solve laplace --cells 20x10 --sweeps 0 --ranks 2
solve laplace --cells 256x128 --precision f32
solve laplace --cells 700x501 --sweeps 12 --norm l2 --tolerance 0 --threads 2
solve laplace --cells 700x501 --sweeps 12 --norm l2 --tolerance 0 --threads 3
solve laplace --cells 700x501 --sweeps 12 --norm l2 --tolerance 0 --ranks 2 --threads 2
solve laplace --cells 700x501 --sweeps 12 --norm l2 --tolerance 0 --ranks 2 --threads 7
"""


def test_solve_has_the_same_bits(program, tmp_path):
    runs = [run_by_words(f"{words} --backend cpu") for words in [*shelf(), *WAYS.strip().splitlines()]]
    one, several = (150, 40) if ALL else (40, 24)
    runs += [random_run(seed, tmp_path) for seed in range(1, one + 1)]
    runs += [random_run(seed, tmp_path, 8) for seed in range(1001, several + 1001)]
    assert run_table(program, runs, tmp_path) == ""


def test_compiled_formulas_have_the_same_bits(program, tmp_path):
    """Each takes a second or two to compile."""
    runs = [random_run(seed, tmp_path, 3, "cpu", ["--formulas", "compiled"])
            for seed in range(2001, 2061 if ALL else 2011)]
    assert run_table(program, runs, tmp_path) == ""


def test_solve_has_the_same_bits_on_a_gpu(program, tmp_path):
    if os.environ.get("EMULATED") != "1":
        pytest.skip("for builds with CUDA sources on the CPU")
    runs = [random_run(seed, tmp_path, 1, "cuda") for seed in range(161, 173)]
    assert run_table(program, runs, tmp_path) == ""
