# SPDX-License-Identifier: Apache-2.0
"""What is wrong with the input is said in one line of standard error, with its exit code, and nothing is
left behind. Where ranks are started, nothing of their launcher is seen. A row for each place that finds
out; all that each of them finds: unit/test_command_line_*.cpp and ranks/test_refused_solves.cpp."""

import os
import re

import numpy as np
import pytest

from command import HALOCLINE, run

USAGE, UNAVAILABLE, FAILURE = 2, 3, 4


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the commands run: an array that is wrong for `heat --cells 5x4`, and a problem with a mistake."""
    path = tmp_path_factory.mktemp("input")
    np.save(path / "shape.npy", np.arange(20.0).reshape(5, 4))
    return path


def refuse(words, code, patterns, folder, env=None):
    before = sorted(os.listdir(folder))
    end = run(*words.split(), cwd=folder, timeout=120, env=env)
    assert end.code == code, end
    assert end.out == ""
    # OpenMP itself may warn of what it cannot read, after an empty line.
    ours = re.sub(r"^\nlibgomp: [^\n]*\n", "", end.err) if env else end.err
    assert re.fullmatch(r"halocline: [^\n]+\n", ours), end.err
    for pattern in patterns:
        assert re.search(pattern, end.err), (pattern, end.err)
    assert sorted(os.listdir(folder)) == before


@pytest.mark.parametrize("words, code, patterns", [
    # By the command, before ranks are started.
    ("slove laplace --cells 4x4", USAGE, ["'slove'", r"solve\?", "halocline --help"]),
    ("plan laplace --ranks 0", USAGE, ["0 ranks", "at least 1"]),
    ("doctor --json d.json --save d.json", USAGE, ["--json", "--save", r"d\.json"]),
    ("bench halo --cells-per-rank 64x64 --width 8,x", USAGE, ["--width '8,x'"]),
    # By a rank alone, before it computes.
    ("solve laplace --sweeps 1000000 --tolerance 0 --output nowhere/u.npy", USAGE, ["no folder 'nowhere'"]),
    ("solve heat --cells 5x4 --initial shape.npy", USAGE, [r"shape\.npy", r"\(5, 4\)", r"\(4, 5\)"]),
    # By all ranks.
    ("solve laplace --cells 8x8 --transport self --ranks 2 --backend cpu", UNAVAILABLE,
     ["self", "same-node=shared"])])
def test_refused(words, code, patterns, folder):
    refuse(words, code, patterns, folder)


def test_smoke_refused(folder):
    refuse("solve laplace --ranks 2 --simd mmx", USAGE, ["mmx"], folder)
    refuse("solve laplace --ranks 2 --cells 1e9x1e9 --backend cpu", FAILURE, ["13.9 EiB"], folder)
    refuse("solve heat --ranks 2 --output nowhere/u.npy", USAGE, ["nowhere"], folder)


@pytest.mark.parametrize("words, variable", [("solve heat --backend cpu", "OMP_NUM_THREADS"),
                                             ("bench halo", "HALOCLINE_ASSUME_GPU")])
def test_a_variable_that_is_no_number(words, variable, folder):
    refuse(words, USAGE, [f"{variable} 'two'"], folder, env={variable: "two"})


def test_a_gpu_that_is_not_there(folder, gpu):
    if gpu:
        pytest.skip(f"there is a GPU: {gpu}")
    refuse("solve heat --backend cuda --ranks 2", UNAVAILABLE,
           ["cuda", "without CUDA|NVIDIA driver", "--backend cpu"], folder)


def test_a_mistake_in_a_problem_file_is_shown_below_its_line(tmp_path):
    (tmp_path / "p.toml").write_text("axes = 1\ncells = 9\n[fields.u]\ninitial = 1\n[update]\n"
                                     "u = 'laplcae(u)'\n[stop]\nsweeps = 1\n")
    end = run("solve", "p.toml", "--ranks", "2", cwd=tmp_path)
    assert (end.code, end.out) == (USAGE, "")
    assert re.fullmatch(r"halocline: p\.toml:6:\d+: [^\n]*'laplcae'[^\n]*\n[^\n]*laplcae[^\n]*\n *\^[^\n]*\n",
                        end.err), end.err


def test_control_characters_stay_off_the_terminal(tmp_path):
    end = run("solve", "laplace", "--initial", "\x1b[31m\x07\u009bred.npy", cwd=tmp_path)
    assert end.code == USAGE and "\\x1b[31m\\x07\\x9bred.npy" in end.err, end


def test_a_device_that_takes_nothing():
    end = run("solve", "heat", "--quiet", "--json", "/dev/full", "--ranks", "2")
    assert end.code == FAILURE
    assert re.fullmatch(r"halocline: [^\n]*/dev/full[^\n]*No space left[^\n]*\n", end.err), end.err


@pytest.mark.parametrize("words", ["solve heat", "solve heat --ranks 2", "--version"])
def test_a_standard_output_that_takes_nothing(words):
    with open("/dev/full", "w") as full:
        end = run(*words.split(), stdout=full)
    assert end.code == FAILURE
    assert "standard output" in end.err


def of_ranks(end):
    """What ranks below a launcher, which may say more, refuse as one."""
    assert (end.code, end.out) == (USAGE, ""), end
    ours, = [line for line in end.err.splitlines() if line.startswith("halocline: ")]
    return ours


def test_options_that_differ_between_ranks(mpirun):
    words = ["solve", "star7", "--cells", "8x8x8", "--backend", "cpu"]
    end = run(*words, "--sweeps=2", ":", "-n", "1", HALOCLINE, *words, "--sweeps=3", timeout=60,
              **mpirun(ranks=1))
    assert re.search("differ.*2.*3", of_ranks(end))


def test_other_ranks_than_the_launcher_started(mpirun):
    end = run("solve", "heat", "--ranks", "3", **mpirun(ranks=2))
    assert re.search("--ranks 3.*started 2.*leave --ranks out", of_ranks(end))
