# SPDX-License-Identifier: Apache-2.0
"""The programs of the page do what it says."""

import os
import pathlib
import re

import halocline as hc
import numpy as np
import pytest

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "python.md"


def names_of_program(number):
    program = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[number]
    names = {}
    exec(compile(program, str(PAGE), "exec"), names)
    return names


def test_the_program_gives_the_averages(capfd):
    names = names_of_program(0)
    grid, whole = names["grid"], np.zeros((128, 256))
    whole[50, 100] = 1e6
    for _ in range(100):  # in the order of the program
        west, east, south, north = (np.roll(whole, by, axis) for axis in (1, 0) for by in (1, -1))
        whole = 0.25 * (west + east + south + north)
    np.testing.assert_array_equal(names["u"][grid.inner], whole[grid.owned])
    # What examples/first_program prints.
    assert capfd.readouterr().out == ("u(100, 50) = 6334.446707873\n" if names["has_place"] else "")


@pytest.mark.skipif(os.environ.get("HALOCLINE_REQUIRE") == "gpu", reason="emulated GPUs load no kernels into Python")
def test_the_solve_keeps_its_sum(capfd):
    result = names_of_program(1)["result"]
    assert str(result) in capfd.readouterr().out and result.sweeps == 100
    np.testing.assert_allclose(result.series["sum(u)"], result.series["sum(u)"][0], rtol=1e-12)
    assert result.norms[-1, 1] < result.norms[0, 1]


def averages(whole):
    for _ in range(100):
        whole = 0.25 * (np.roll(whole, 1, 0) + np.roll(whole, -1, 0) + np.roll(whole, 1, 1) + np.roll(whole, -1, 1))
    return whole


def test_so_does_the_program_in_jax():
    try:
        import halocline.jax  # noqa: F401
    except hc.UnavailableError as error:
        pytest.skip(str(error))
    names = names_of_program(2)
    y, x = np.mgrid[:256, :128]
    grid = names["grid"]
    whole = averages((x * y % 7).astype("f4"))
    np.testing.assert_array_equal(np.asarray(names["u"])[grid.inner], whole[grid.owned])
