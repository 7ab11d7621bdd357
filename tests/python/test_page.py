# SPDX-License-Identifier: Apache-2.0
"""The program of the page does what it says."""

import pathlib
import re

import numpy as np
from mpi4py import MPI

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "python.md"


def test_the_program_gives_the_averages():
    program = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[1]
    names = {}
    exec(compile(program, str(PAGE), "exec"), names)
    whole = np.zeros((256, 128))
    whole[50, 100] = 1e6
    for _ in range(100):
        whole = 0.25 * (np.roll(whole, 1, 0) + np.roll(whole, -1, 0) + np.roll(whole, 1, 1) + np.roll(whole, -1, 1))
    grid = names["grid"]
    np.testing.assert_array_equal(names["u"][grid.inner], whole[grid.owned])
    total = MPI.COMM_WORLD.allreduce(names["u"][grid.inner].sum())
    np.testing.assert_allclose(total, 1e6)
