#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares `halocline solve` with reference.py on random problem files, and prints what differs.

usage: compare.py HALOCLINE FIRST_SEED LAST_SEED [MOST_RANKS [BACKEND]]

Each file runs with options of its own: backend, formulas, vectors, threads, schedule, halo depth and,
with MOST_RANKS (default 1) above 1, ranks, process grid and transport; BACKEND makes all of them run
there. Every checksum and every max norm must be the same to the last bit, L2 norms and sums within
rounding.
"""

import functools
import itertools
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile
from typing import NamedTuple

from random_files import random_file
from reference import Problem, Wrong, report, solve


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


@functools.cache
def levels_of(program):
    """The vector levels of this processor."""
    text = subprocess.run([program, "solve", "--help"], capture_output=True, text=True, timeout=60).stdout
    return ["auto", *re.search(r"widest vectors to use: auto or (.*)", text).group(1).split(", ")]


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


def random_way(program, dice, most_ranks, backend, axes):
    depth, grid = dice.choice([1, 1, 2, 3]), []
    options = ["--backend", dice.choice(["cpu", "cpu", "reference"]), "--threads", str(dice.choice([1, 1, 3])),
               "--schedule", dice.choice(["sequential", "overlap"]),
               "--halo-depth", str(depth)]
    if backend:
        options[1] = backend
    if "cpu" in options:
        options += ["--simd", dice.choice(levels_of(program))]
    if most_ranks > 1:
        ranks = dice.randint(1, most_ranks)
        grid = dice.choice(process_grids(ranks, axes))
        options += ["--ranks", str(ranks), "--process-grid", "x".join(map(str, grid))]
        if backend != "cuda":
            options += ["--transport", dice.choice(["auto", "mpi", "shared"])]
    return Way(options, grid, depth)


def by_reference(text, problem, run):
    try:
        return report(*solve(Problem(text, **problem), **run))
    except Wrong as wrong:
        return f"refused: {wrong}"


def by_command(program, path, options):
    done = subprocess.run([program, "solve", path, "--quiet", "--json", "-", *options], capture_output=True,
                          text=True, timeout=120)
    return json.loads(done.stdout) if done.stdout.startswith("{") else f"refused: {done.stderr}"


def is_close(ours, theirs):
    return ours == theirs or abs(ours - theirs) <= 1e-12 + 1e-9 * max(abs(ours), abs(theirs))


def differences(ours, theirs):
    """Where the report of the command differs from the reference's."""
    if isinstance(ours, str) or isinstance(theirs, str):
        return [f"{str(ours)[:100]} / {str(theirs)[:200]}"]
    found = []
    for name, facts in ours["fields"].items():
        field = theirs["fields"][name]
        if facts["checksum"] != field["checksum"] or not is_close(facts["sum"], field["sum"]):
            found.append(f"field {name}: {facts} / {field}")
    norms = theirs["norm_history"]
    if len(norms) != len(ours["norm_history"]):
        found.append(f"norms: {ours['norm_history']} / {norms}")
    same = is_close if theirs["norm"] == "l2" else (lambda a, b: a == b)
    for (sweep, norm), (_, other) in zip(ours["norm_history"], norms):
        if not same(norm, other):
            found.append(f"norm of sweep {sweep}: {norm} / {other}")
    return found


def is_too_deep(theirs):
    """Refusals of this way alone: parts are thinner than the halo of so many sweeps, or not there."""
    return isinstance(theirs, str) and any(
        words in theirs for words in ("halo depth", "halo is", "wider than", "thinner", "cells are too few",
                                      "halo width", "cannot split", "cannot be split", "more ranks than",
                                      "would be empty"))


def compare(program, seed, most_ranks, folder, backend=None):
    dice = random.Random(f"options {seed}")
    text = random_file(seed)
    path = pathlib.Path(folder) / f"{seed}.toml"
    path.write_text(text)
    way = random_way(program, dice, most_ranks, backend, Problem(text).axes)
    choices, problem, run = random_choices(dice, text, way)
    options = choices + way.options
    ours, theirs = by_reference(text, problem, run), by_command(program, path, options)
    if is_too_deep(theirs):
        return None, options, theirs
    return differences(ours, theirs), options, theirs


def main():
    if len(sys.argv) not in (4, 5, 6):
        sys.exit(__doc__)
    program, differing, left_out = sys.argv[1], 0, 0
    seeds = range(int(sys.argv[2]), int(sys.argv[3]) + 1)
    with tempfile.TemporaryDirectory() as folder:
        for seed in seeds:
            found, options, _ = compare(program, seed, int((sys.argv + ["1"])[4]), folder,
                                        *sys.argv[5:])
            left_out += found is None
            if found:
                differing += 1
                print(f"seed {seed} {' '.join(options)}")
                print("".join(f"  {line}\n" for line in found), end="", flush=True)
    print(f"{len(seeds) - differing - left_out} of {len(seeds)} files give the same bits, {differing} others, "
          f"{left_out} left out")
    return 1 if differing or left_out > len(seeds) / 2 else 0


if __name__ == "__main__":
    sys.exit(main())
