# SPDX-License-Identifier: Apache-2.0
"""Every problem of the shelf has the same bits however it is computed, which are those of NumPy."""

import json
import subprocess
import sys

import pytest

from command import ROOT, solve_json
from shelf import PROBLEMS, SHELF, assert_same

# By number of axes: grids of 8, 6 and 4 processes; bricks that are not those of `--layout brick`.
BRICKS = {1: "brick:16", 2: "brick:4x16", 3: "brick:8x2x4"}
GRIDS = {1: ["8", "6", "4"], 2: ["4x2", "1x6", "2x2"], 3: ["2x2x2", "3x1x2", "1x4x1"]}


def test_the_shelf_is_whole():
    assert sorted(SHELF) == sorted(path.stem for path in PROBLEMS.glob("*.toml"))


@pytest.mark.parametrize("name", SHELF)
def test_every_way_gives_the_same_bits(name, simd_levels):
    words = [name, *SHELF[name].split()]
    expected = solve_json(*words, "--backend", "reference", "--ranks", "1")
    for level in simd_levels:
        assert_same(solve_json(*words, "--ranks", "1", "--threads", "2", "--simd", level), expected)
    eight, six, four = (["--process-grid", grid] for grid in GRIDS[len(expected["cells"])])
    bricks = ["--layout", BRICKS[len(expected["cells"])]]
    for way in (["--ranks", "8", *eight, "--transport", "mpi", "--schedule", "overlap"],
                ["--ranks", "6", *six, "--transport", "shared", "--schedule", "sequential"],
                ["--ranks", "4", *four, "--halo-depth", "3"],
                ["--ranks", "3", "--halo-depth", "2", "--schedule", "overlap"],
                ["--ranks", "2", "--backend", "reference", "--transport", "mpi"],
                ["--ranks", "1", "--threads", "2", "--layout", "brick"],
                ["--ranks", "4", *four, *bricks, "--halo-depth", "2", "--schedule", "overlap"],
                ["--ranks", "2", *bricks, "--backend", "reference"]):
        assert_same(solve_json(*words, *way), expected)


@pytest.mark.parametrize("name", SHELF)
def test_numpy_gives_the_same_bits(name):
    pytest.importorskip("numpy")
    pytest.importorskip("tomllib")  # of Python 3.11
    words = SHELF[name].split()
    done = subprocess.run(
        [sys.executable, ROOT / "tests/problem_files/reference.py", PROBLEMS / f"{name}.toml", *words],
        capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    expected = json.loads(done.stdout)
    report = solve_json(name, *words)
    assert_same(report, {**expected, "norm": report["norm"]})
