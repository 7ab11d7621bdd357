# SPDX-License-Identifier: Apache-2.0
"""reference.py has the known values of the built-in problems; random_files.py is the same for a seed.

$WHOLE_DOMAIN is the program made of whole_domain.cpp, which has the same bits."""

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
from random_files import random_file  # noqa: E402
from reference import Problem, State, Wrong, solve  # noqa: E402


def python(script, *arguments, timeout=400):
    return subprocess.run([sys.executable, HERE / script, *map(str, arguments)], capture_output=True, text=True,
                          timeout=timeout)


def run(name, *options):
    done = python("reference.py", PROBLEMS / f"{name}.toml", *options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_laplace():
    result = run("laplace", "--cells", "64x64", "--tolerance", 0)
    norms = dict(result["norm_history"])
    assert result["sweeps"] == 526
    assert result["fields"]["u"]["checksum"] == "3b97bf2af2c55464"
    assert result["fields"]["u"]["sum"] == pytest.approx(767.048512190739, rel=1e-12)
    for sweep, norm in [(0, 0.940379538), (100, 0.062640527), (525, 0.012472773)]:
        assert norms[sweep] == pytest.approx(norm, abs=5e-10)


def test_laplace_stops():
    result = run("laplace", "--cells", "256x128")
    assert result["sweeps"] == 199
    assert result["fields"]["u"]["checksum"] == "528098ec285fe4a5"


def test_star7():
    result = run("star7", "--cells", "16x12x8", "--sweeps", 5)
    u = result["fields"]["u"]
    assert u["checksum"] == "dee8e0b50a85dd37"
    assert u["sum"] == pytest.approx(764.566981014151, rel=1e-12)
    assert (u["min"], u["max"]) == pytest.approx((0.329363590125248, 0.665718940790677), rel=1e-14)
    assert result["norm_history"] == []


def test_jacobi():
    norms = dict(run("jacobi", "--cells", "254x254", "--sweeps", 101)["norm_history"])
    assert norms[0] == pytest.approx(3.992180, abs=5e-6)
    assert norms[100] == pytest.approx(0.110318, abs=5e-6)


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
    for seed in range(20):
        once, again = (python("random_files.py", seed).stdout for _ in range(2))
        assert once == again == random_file(seed) != random_file(seed + 1)


def test_random_files_are_valid_and_stay_finite():
    for seed in range(100):
        state, _ = solve(Problem(random_file(seed)), sweeps=20)
        assert isinstance(state, State)
        for name in state.fields:
            cells = state.cells_of(name)
            assert abs(cells).max() < 1e6, (seed, name)


def test_the_command_computes_the_same_bits():
    if not os.environ.get("HALOCLINE"):
        pytest.skip("HALOCLINE names no command")
    done = python("compare.py", os.environ["HALOCLINE"], 1, 150)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_command_computes_the_same_bits_on_several_ranks():
    if not os.environ.get("HALOCLINE"):
        pytest.skip("HALOCLINE names no command")
    done = python("compare.py", os.environ["HALOCLINE"], 1001, 1040, 8)
    assert done.returncode == 0, done.stdout + done.stderr
