# SPDX-License-Identifier: Apache-2.0
"""Examples of the library's own."""

import re

import pytest

from gallery import output, run, skip


def test_two_fields():
    assert output("two_fields", ranks=3) == "u(130, 70) = 0.422841113792386\n"


@pytest.mark.parametrize("ranks", [1, 2])
def test_gpu_heat(ranks):
    # The hot cell's value after 20 steps, by the same steps on as many cells as it takes.
    u = {(0, 0): 1000.0}
    for _ in range(20):
        around = {(x, y): [u.get(cell, 0.0) for cell in
                           ((x, y), (x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1))]
                  for near in u for x, y in [near, (near[0] - 1, near[1]), (near[0] + 1, near[1]),
                                             (near[0], near[1] - 1), (near[0], near[1] + 1)]}
        u = {cell: c + 0.2 * (((w + e) + (s + n)) - 4 * c)
             for cell, (c, w, e, s, n) in around.items()}
    order = {"CUDA_ON_CPU_ORDER": "thread"} if ranks > 1 else {}
    end = run("gpu_heat", 20, ranks=ranks, env=order)
    if end.code == 3:
        skip(end.err.splitlines()[0], needs="gpu")
    assert (end.code, end.out) == (0, f"u(100, 100) = {u[0, 0]:.12f}\n"), end


def test_gpu_heat_wants_a_number():
    assert "not 'many'" in run("gpu_heat", "many").err


@pytest.mark.parametrize("grid", [(1, 1), (1, 3)])
def test_mesh_halocline(grid):
    x, y = grid
    lines = output("mesh_halocline", x, y, ranks=x * y).splitlines()
    assert len(lines) == x * y
    assert all(f" of {x}x{y}: " in line and line.endswith(" wrong values: 0") for line in lines)


def test_mesh_halocline_wants_a_grid_of_its_ranks():
    assert "usage: mesh_halocline [PX PY]" in run("mesh_halocline", "2", "x").err
    end = run("mesh_halocline", 2, 2)
    assert end.code == 2 and "the process grid 2x2 is for 4 ranks, but there are 1" in end.err


def test_solve():
    printed = [output("solve", ranks=ranks) for ranks in (1, 3)]
    assert all("checksum      528098ec285fe4a5\n" in text for text in printed)
    assert "there is no problem 'nope'" in run("solve", "nope").err


@pytest.mark.parametrize("ranks, depth", [(1, 4), (3, 5)])
def test_fewer_messages(ranks, depth):
    out = output("fewer_messages", depth, ranks=ranks)
    often, seldom = re.findall(r"exchange every +\d+: messages +(\d+), updates (\d+)", out)
    assert int(often[0]) * -(-48 // depth) == int(seldom[0]) * 48
    assert int(often[1]) == 48 * 200 * 160 <= int(seldom[1]) and (ranks == 1) == (often == seldom)
    assert out.endswith("cells whose bits differ: 0\n")


def test_fewer_messages_wants_a_depth():
    assert "sweeps per exchange, 1 to 64" in run("fewer_messages", "0").err


# As `halocline solve laplace --cells 256x256`, which stops after as many sweeps.
@pytest.mark.parametrize("program", ["c_laplace", "fortran_laplace"])
def test_laplace(program):
    said = output(program, ranks=3, needs="fortran").strip().lower()
    assert said == "199 sweeps, checksum eacb0e5c9c2d699c"
