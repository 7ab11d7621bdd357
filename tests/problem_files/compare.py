#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares solve() with reference.py on random problem files and on the shelf, and prints what differs.

usage: compare.py RANKS_TESTS FIRST_SEED LAST_SEED [MOST_RANKS [BACKEND]]

Writes words and values in the tables that the program RANKS_TESTS runs, once for every number of ranks, as
tests/ranks/test_same_bits.cpp says; LAUNCHER has the words before that number. Each random file runs with
options of its own: backend, vectors, threads, schedule, halo depth and, with MOST_RANKS (default 1) above 1,
ranks, process grid and transport; BACKEND makes all of them run there. Every checksum and every max norm
must be the same to the last bit, L2 norms and sums within rounding.
"""

import itertools
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
from typing import NamedTuple

from random_files import random_file
from reference import Problem, arguments, report, solve, solved

TESTS = pathlib.Path(__file__).resolve().parent.parent
PROBLEMS = TESTS.parent / "problems"
LAUNCHER = os.environ.get("LAUNCHER", "mpirun --oversubscribe --bind-to none -n").split()


def random_choices(dice, text, way):
    """What a run may choose of a problem, as options and as arguments of Problem and solve."""
    options, problem, run = [], {}, {}
    if dice.random() < 0.2:
        problem["precision"] = dice.choice(["f32", "f64"])
        options += ["--precision", problem["precision"]]
    if dice.random() < 0.2:
        problem["seed"] = dice.choice([0, 7, 2**63])
        options += ["--seed", str(problem["seed"])]
    if dice.random() < 0.2:
        run["sweeps"] = dice.randint(0, 20)
        options += ["--sweeps", str(run["sweeps"])]
    if dice.random() < 0.2:
        problem["parameters"] = {"dt": dice.choice([0.125, 0.07])}
        options += ["--set", f"dt={problem['parameters']['dt']}"]
    if dice.random() < 0.2 or way.grid:
        # The part of a rank has to be as thick as its halo, and reference.py is slow: no thicker.
        cells = [n * (parts * way.depth if parts > 1 else 1) + dice.randint(0, 3)
                 for n, parts in zip(Problem(text).cells, way.grid or itertools.repeat(1))]
        problem["cells"] = cells
        options += ["--cells", "x".join(map(str, cells))]
    return options, problem, run


def process_grids(ranks, axes):
    """Every way to divide the ranks among the axes."""
    if axes == 1:
        return [[ranks]]
    return [[n, *others] for n in range(1, ranks + 1) if ranks % n == 0
            for others in process_grids(ranks // n, axes - 1)]


class Way(NamedTuple):
    """How a run computes, which must not change its bits."""
    options: list
    grid: list  # of the processes; empty if there is one process
    depth: int


def deepest(problem):
    """For how many sweeps a halo fits into the cells of every periodic axis."""
    fits = [n // reach for n, reach, wraps in zip(problem.cells, problem.ghosts, problem.periodic)
            if wraps and reach]
    return max(1, min([max(problem.cells), *fits]))


def random_way(dice, most_ranks, backend, problem):
    depth, grid = min(dice.choice([1, 1, 2, 3]), deepest(problem)), []
    options = ["--backend", dice.choice(["cpu", "cpu", "reference"]), "--threads", str(dice.choice([1, 1, 3])),
               "--schedule", dice.choice(["sequential", "overlap"]),
               "--halo-depth", str(depth)]
    if backend:
        options[1] = backend
    if "cpu" in options:
        options += ["--simd", dice.choice(["auto", "scalar", "sse4", "avx2", "avx512"])]
    if most_ranks > 1:
        ranks = dice.randint(1, most_ranks)
        grid = dice.choice(process_grids(ranks, problem.axes))
        options += ["--ranks", str(ranks), "--process-grid", "x".join(map(str, grid))]
        if backend != "cuda":
            options += ["--transport", dice.choice(["auto", "mpi", "shared"])]
    return Way(options, grid, depth)


def random_run(seed, folder, most_ranks=1, backend=None, more=()):
    """A random file with random options, and some more, as a line of a table."""
    dice = random.Random(f"options {seed}")
    text = random_file(seed)
    path = folder / f"{seed}.toml"
    path.write_text(text)
    way = random_way(dice, most_ranks, backend, Problem(text))
    choices, problem, run = random_choices(dice, text, way)
    words = " ".join(["solve", str(path), *choices, *way.options, *more])
    return {"run": words, "may_refuse": True, **report(*solve(Problem(text, **problem), **run))}


def run_by_words(words):
    """A run of a built-in problem: what is no argument of reference.py is a way to compute it."""
    given, _ = arguments().parse_known_args(words.split()[1:])
    return {"run": words, **report(*solved(PROBLEMS / f"{given.file}.toml", given))}


def shelf():
    """A run of each built-in problem."""
    return [line["run"] for line in json.loads((TESTS / "ranks/same_bits.json").read_text())["shelf"]]


def run_table(program, runs, folder):
    """Does the runs, and returns what is wrong. Some may be refused: their parts are thinner than a halo."""
    table, said, done, refused = folder / "table.json", "", 0, 0
    table.write_text(json.dumps({"runs": runs}))
    wanted = {int((re.findall("--ranks ([0-9]+)", run["run"]) or [1])[0]) for run in runs}
    for ranks in sorted({{5: 6, 7: 8}.get(n, n) for n in wanted}):
        end = subprocess.run([*LAUNCHER, str(ranks), program, "--gtest_filter=SameBits.RunsAreAsRecorded"],
                             env={**os.environ, "HALOCLINE_TEST_TABLE": str(table)}, capture_output=True,
                             text=True, timeout=600)
        if end.returncode != 0:
            said += end.stdout + end.stderr
        elif counts := re.search("([0-9]+) runs, ([0-9]+) of them refused", end.stdout):
            done, refused = done + int(counts[1]), refused + int(counts[2])
    if not said and (done != len(runs) or refused > sum("may_refuse" in run for run in runs) / 2):
        said = f"{done} of {len(runs)} runs done, {refused} of them refused"
    return said


def main():
    if len(sys.argv) not in (4, 5, 6):
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        runs = [random_run(seed, folder, int((sys.argv + ["1"])[4]), *sys.argv[5:])
                for seed in range(int(sys.argv[2]), int(sys.argv[3]) + 1)]
        said = run_table(sys.argv[1], runs, folder)
    print(said or f"{len(runs)} files give the same bits")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
