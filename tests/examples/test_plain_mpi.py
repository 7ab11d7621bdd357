# SPDX-License-Identifier: Apache-2.0
"""Examples that need nothing but MPI and threads."""

import math
import re

import pytest

from gallery import numbers, output, run

ROD = """0.307205621017285 0.584339815421977 0.804274757358271 0.945481682332598 0.994138272681972
0.945481682332598 0.804274757358271 0.584339815421977 0.307205621017285""".split()


@pytest.mark.parametrize("threads", [1, 3])
def test_pi_threads(threads):
    out = output("pi_threads", env={"OMP_NUM_THREADS": str(threads)})
    assert out.startswith(f"pi = 3.14159265359 by 1024000 cells, threads: {threads}, off by ")


@pytest.mark.parametrize("ranks", [1, 4])
def test_pi_mpi(ranks):
    out = output("pi_mpi", ranks=ranks)
    assert out.startswith(f"pi = 3.14159265359 by 1024000 cells, ranks: {ranks}, off by ")


@pytest.mark.parametrize("program", ["pi_threads", "pi_mpi"])
def test_pi_with_few_cells(program):
    # By hand: one cell has its middle at 1/2.
    assert numbers(output(program, 1))[0] == 4 / (1 + 0.25)


@pytest.mark.parametrize("program", ["pi_threads", "pi_mpi"])
@pytest.mark.parametrize("cells", ["12x", "0", "1e6", "99999999999"])
def test_pi_wants_a_number(program, cells):
    end = run(program, cells)
    assert (end.code, end.out) == (2, "") and f"not '{cells}'" in end.err


@pytest.mark.parametrize("ranks, threads", [(1, 2), (4, 1)])
def test_heat(ranks, threads):
    lines = output("heat_1d", ranks=ranks, env={"OMP_NUM_THREADS": str(threads)}).splitlines()
    assert lines[:9] == ROD
    assert lines[9].startswith(f"3 steps, ranks: {ranks}, threads in each: {threads}, off ")


def test_heat_of_another_size():
    step = 1 - 4 * 0.02 * math.sin(math.pi / 10) ** 2
    lines = output("heat_1d", 4, 7, ranks=3).splitlines()
    assert lines[:4] == [f"{math.sin(math.pi * i / 5) * step ** 7:.15f}" for i in (1, 2, 3, 4)]


@pytest.mark.parametrize("arguments, ranks", [(["9.5"], 1), (["9", "three"], 1), (["2"], 3)])
def test_heat_wants_numbers_and_a_cell_for_each_rank(arguments, ranks):
    end = run("heat_1d", *arguments, ranks=ranks)
    assert end.code == 2 and f"at least one cell for each of the {ranks} ranks" in end.err


@pytest.mark.parametrize("ranks", [3])
def test_blocking(ranks):
    assert output("blocking", ranks=ranks).splitlines() == [
        f"value {i} is {4 * i}.0" for i in range(10)]


def test_blocking_wants_two_ranks():
    end = run("blocking")
    assert end.code == 2 and "start 2 or more" in end.err


@pytest.mark.parametrize("ranks", [1, 3])
def test_nonblocking(ranks):
    assert sorted(output("nonblocking", ranks=ranks).splitlines()) == [
        f"rank {i} sent {1024 + i}, got {1024 + (i - 1) % ranks}, and came to 1.0 meanwhile"
        for i in range(ranks)]


def test_deadlock_of_three():
    lines = output("deadlock", ranks=3).splitlines()
    assert lines[0] == ("deadlock: after 1 s rank 0 waits for rank 1, which waits for rank 2, "
                        "which waits for rank 0: a circle.")
    assert lines[1].startswith("Each waits in a send ")
    assert [re.split(": +", line) for line in lines[2:]] == [
        ["receives posted too late", "all values came"], ["fix 1, taking turns", "all values came"],
        ["fix 2, non-blocking sends", "all values came"]]


def test_deadlock_wants_two_ranks():
    end = run("deadlock")
    assert end.code == 2 and "[SECONDS], 1 to 30, on 2 or more ranks" in end.err


@pytest.mark.parametrize("ranks", [1, 4])
def test_collectives(ranks):
    out = output("collectives", ranks=ranks)
    most = max((i * 7919 + 13) % 101 for i in range(ranks))
    assert f"reduce: {ranks}! = {math.factorial(ranks)}\n" in out
    assert f"allreduce: most is {most}, on rank " in out
    assert (out.count("right on every rank"), out.count("WRONG")) == (5, 0)


@pytest.mark.parametrize("ranks", [1, 3])
def test_ring(ranks):
    assert output("ring", 100003, ranks=ranks) == (
        f"ranks: {ranks}, 100003 bytes once around: every byte right after every step\n")


def test_ring_wants_a_number():
    assert "not '-5'" in run("ring", "-5").err


@pytest.mark.parametrize("grid", [(1, 1), (1, 3), (2, 2)])
def test_mesh(grid):
    x, y = grid
    assert output("mesh", x, y, ranks=x * y) == (
        f"process grid {x}x{y}, 60x40 cells each, wrong values: 0\n")


def test_mesh_of_mpis_choice():
    assert output("mesh", ranks=3).endswith("wrong values: 0\n")


@pytest.mark.parametrize("grid", [(2, 2), ("1", "one"), (1,)])
def test_mesh_wants_a_grid_of_its_ranks(grid):
    end = run("mesh", *grid)
    assert end.code == 2 and "PX * PY = 1 ranks" in end.err


def test_false_sharing():
    out = output("false_sharing", 100000, env={"OMP_NUM_THREADS": "3"})
    assert out.startswith("100000 values, threads: 3, best of 3\n")
    assert (out.count(" ms  right\n"), out.count("WRONG")) == (5, 0)


def test_false_sharing_wants_a_number():
    assert "not 'x'" in run("false_sharing", "x").err
