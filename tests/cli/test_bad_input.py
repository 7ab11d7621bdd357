# SPDX-License-Identifier: Apache-2.0
"""What is wrong with the input is said in one line, with values and what to do, and nothing is
left behind. Where ranks are started, nothing of their launcher is seen."""

import os
import re

import numpy as np
import pytest

from command import HALOCLINE, run

USAGE, UNAVAILABLE, FAILURE = 2, 3, 4


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the commands run: files to start from, each wrong for `heat --cells 5x4`."""
    path = tmp_path_factory.mktemp("input")
    right = np.arange(20.0).reshape(4, 5)
    arrays = {
        "shape": right.T.copy(), "axes": right.ravel(), "type": right.astype("f4"),
        "integers": right.astype("i8"), "complex": right.astype("c16"),
        "big_endian": right.astype(">f8"), "fortran": np.asfortranarray(right),
        "records": np.zeros((4, 5), dtype=[("u", "f8"), ("v", "f8")]),
        "objects": right.astype(object), "text": right.astype("U3"),
    }
    for name, array in arrays.items():
        np.save(path / f"{name}.npy", array)
    np.save(path / "right.npy", right)
    whole = (path / "right.npy").read_bytes()
    (path / "truncated.npy").write_bytes(whole[:-1])
    (path / "header_only.npy").write_bytes(whole[:40])
    (path / "version.npy").write_bytes(whole[:6] + b"\x09\x00" + whole[8:])
    (path / "header.npy").write_bytes(whole.replace(b"'descr'", b"'dexcr'"))
    (path / "empty.npy").write_bytes(b"")
    (path / "picture.npy").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    (path / "file").write_text("kept")
    (path / "folder").mkdir()
    (path / "folder.npy").mkdir()
    return path


CASES = [
    # What to solve
    ("solve", USAGE, "needs a PROBLEM", "solve --help"),
    ("solve nothing", USAGE, "no problem 'nothing'", "laplace, jacobi, heat, star7"),
    ("nothing", USAGE, "nothing", "--help"),
    ("solve heat extra", USAGE, "extra", "--help"),
    ("solve heat --no-such-option", USAGE, "--no-such-option", "--help"),
    ("solve heat --cells", USAGE, "--cells", "--help"),
    ("solve laplace --cells 0x5", USAGE, "0 cells along x", "at least 1"),
    ("solve laplace --cells 12y7", USAGE, "'12y7' is not a size", "256x128"),
    ("solve laplace --cells 12x", USAGE, "'12x' is not a size"),
    ("solve laplace --cells 1.5x4", USAGE, "'1.5x4' is not a size"),
    ("solve laplace --cells -3x4", USAGE, "'-3x4' is not a size"),
    (["solve", "laplace", "--cells", ""], USAGE, "--cells '' is empty", "--help"),
    (["solve", ""], USAGE, "problem '' is empty"),
    ("slove laplace --cells 4x4", USAGE, "'slove'", "solve\\?", "halocline --help"),
    ("solve heat --rank 2", USAGE, "'--rank'", "--ranks\\?"),
    ("solve heat more --nothing --yet", USAGE, "'more'.*'--nothing'.*'--yet'"),
    ("solve heat --json --verify", USAGE, "--json needs a value", "--json=--verify"),
    ("solve heat --verify=no", USAGE, "--verify takes no value"),
    ("solve heat --sweeps 2 --sweeps 3", USAGE, "--sweeps", "'2' and '3'", "once"),
    ("solve heat --json a --ranks 2 --json=a", USAGE, "--json", "once"),
    ("solve heat --set dt=1e-3 --set alpha=1 --set dt=1e-4", USAGE, "dt twice"),
    ("solve laplace --ranks 2 --transport same-node=mpi,same-node=shared", USAGE,
     "same-node twice"),
    ("solve laplace --trace -", USAGE, "--trace", "--json"),
    ("solve laplace --tune -", USAGE, "--tune", "--json"),
    (["solve", "heat", "--proofs", ""], USAGE, "--proofs '' is empty"),
    (["solve", "heat", "--trace="], USAGE, "--trace '' is empty"),
    (["solve", "heat", "--initial", ""], USAGE, "--initial '' is empty"),
    ("solve laplace --cells 4x4x4x4", USAGE, "'4x4x4x4' has more than 3 axes"),
    ("solve laplace --cells 99999999999999999999x2", USAGE, "99999999999999999999x2"),
    ("solve laplace --cells 4294967296x4294967296 --ranks 2", USAGE, "4294967296", r"2\^63"),
    ("solve laplace --cells 16 --ranks 2", USAGE, "laplace has 2 to 3 axes", "cells 16 have 1"),
    ("solve star7 --cells 4x4 --ranks 2", USAGE, "star7 has 3 axes", "cells 4x4 have 2"),
    ("solve jacobi --cells 4x4x4", USAGE, "jacobi has 2 axes", "cells 4x4x4 have 3"),
    ("solve laplace --cells 1e9x1e9 --backend cpu", FAILURE,
     "1000000000x1000000000 cells in f64 take 13.9 EiB", "free of", "fewer cells"),
    ("solve laplace --cells 1e9x1e9 --ranks 2 --precision f32 --backend cpu", FAILURE,
     "cells in f32 take 6.94 EiB", "fewer cells"),
    ("solve laplace --cells 8x8 --cells-per-rank 4x4 --ranks 2", USAGE, "not both"),
    ("solve laplace --sweeps -1 --ranks 2", USAGE, "-1 sweeps"),
    ("solve laplace --sweeps many", USAGE, "many"),
    ("solve laplace --tolerance -1 --ranks 2", USAGE, "tolerance -1"),
    ("solve laplace --tolerance nan --ranks 2", USAGE, "--tolerance 'nan' is not a finite number"),
    ("solve laplace --tolerance 1 --norm none --ranks 2", USAGE, "needs a norm", "max or l2"),
    ("solve laplace --norm most --ranks 2", USAGE, "no norm 'most'", "max, l2, none"),
    ("solve laplace --norm-every 0 --ranks 2", USAGE, "norm every 0", "at least 1"),
    ("solve laplace --precision f16", USAGE, "no precision 'f16'", "f32, f64"),
    ("solve laplace --seed -1", USAGE, "-1"),
    ("solve laplace --seed 1.5", USAGE, "1.5"),
    # Parameters
    ("solve heat --set speed=1 --ranks 2", USAGE, "no parameter 'speed'", "alpha, dt, dx"),
    ("solve laplace --set speed=1 --ranks 2", USAGE, "laplace has no parameters", "'speed'"),
    ("solve heat --set dt", USAGE, "--set 'dt'", "NAME=NUMBER"),
    ("solve heat --set dt=x", USAGE, "--set 'dt=x'", "NAME=NUMBER"),
    ("solve heat --set =1", USAGE, "--set '=1'", "NAME=NUMBER"),
    ("solve heat --set dt=nan --ranks 2", USAGE, "--set 'dt=nan'", "finite"),
    ("solve heat --set dt=0 --ranks 2", USAGE, "positive", "0"),
    ("solve heat --set alpha=-2", USAGE, "positive", "-2"),
    ("solve heat --set dt=0.01", USAGE, "unstable with dt 0.01", "largest stable dt is 0.0025"),
    ("solve heat --cells 9x9x9 --set dt=0.001 --ranks 2", USAGE,
     r"largest stable dt is 0\.00083333"),
    # How
    ("solve laplace --ranks 0", USAGE, "0 ranks", "at least 1"),
    ("solve laplace --ranks -3", USAGE, "-3 ranks", "at least 1"),
    ("solve laplace --cells 8x8 --ranks 65", USAGE, "8x8 cells", "65 ranks",
     r"at most 64 rank"),
    ("solve laplace --cells 4x4 --ranks 1000000", USAGE, "1000000 ranks", "at most 16 rank"),
    ("solve laplace --cells 8x8 --ranks 4 --process-grid 3x1", USAGE, "3x1 is for 3 ranks",
     "there are 4"),
    ("solve laplace --cells 8x8 --ranks 2 --process-grid 2", USAGE, "1 axis", "has 2"),
    ("solve laplace --cells 8x8 --ranks 2 --process-grid 0x2", USAGE, "0x2", "at least 1 part"),
    ("solve laplace --cells 8x8 --ranks 2 --process-grid 2z1", USAGE, "'2z1' is not a size"),
    ("solve laplace --cells 8x2 --ranks 3 --process-grid 1x3", USAGE, "3 parts along y",
     "2 cells"),
    ("solve laplace --cells 64x64 --ranks 4 --process-grid 1x4 --halo-depth 17", USAGE, "17",
     "16 cells", "along y"),
    ("solve laplace --cells 8x8 --ranks 4 --halo-depth 5", USAGE, "8x8 cells", "4 ranks",
     "at least 5"),
    ("solve laplace --halo-depth 0 --ranks 2", USAGE, "halo depth 0", "at least 1"),
    ("solve laplace --layout bricks", USAGE, "'bricks'", "auto, array, brick, brick:32x8"),
    ("solve laplace --layout brick:8x6", USAGE, "'brick:8x6'", "powers of 2"),
    ("solve laplace --layout brick:8x0", USAGE, "'brick:8x0'", "at least 1"),
    ("solve laplace --layout brick:8x8x8x8 --ranks 2", USAGE, "'brick:8x8x8x8'", "one per axis"),
    ("solve laplace --layout brick:8x8x8", USAGE, "gives 3 sizes", "2 axes"),
    ("solve laplace --layout brick:8x1048576", USAGE, "'1048576'", "65536"),
    ("solve laplace --layout brick:", USAGE, "'brick:'"),
    ("solve laplace --threads -1 --ranks 2", USAGE, "-1 threads"),
    ("solve heat --threads 1000000000", USAGE, "1000000000 threads"),
    ("solve laplace --cells 8x8 --backend gpu --ranks 2", USAGE, "no backend 'gpu'",
     "reference", "cpu"),
    ("solve laplace --cells 8x8 --memory paper --ranks 2", USAGE, "no memory 'paper'",
     "auto, device, pinned, managed, system, host"),
    ("solve laplace --cells 8x8 --memory device --backend cpu --ranks 2", USAGE,
     "cpu backend cannot sweep over device memory", "--memory host"),
    ("solve laplace --cells 8x8 --memory host --backend cuda", USAGE,
     "cuda backend cannot sweep over host memory", "pinned, managed or device"),
    ("solve laplace --cells 8x8 --simd mmx --ranks 2", USAGE, "no vectors 'mmx'",
     "auto, scalar"),
    ("solve laplace --cells 8x8 --transport pigeon --ranks 2", USAGE,
     "no transport 'pigeon'", "shared", "mpi"),
    ("solve laplace --cells 8x8 --transport next-binding=mpi --ranks 2", USAGE, "next-binding=mpi",
     "same-node="),
    ("solve star7 --cells 8x8x8 --transport self=mpi,other-node=pigeon", USAGE,
     "no transport 'pigeon'"),
    ("solve laplace --cells 8x8 --transport self --ranks 2 --backend cpu", UNAVAILABLE,
     "self cannot serve same-node", "same-node=shared"),
    ("solve laplace --cells 8x8 --schedule lazy --ranks 2", USAGE, "no schedule 'lazy'",
     "sequential, overlap"),
    ("solve heat --wait-limit -1", USAGE, "wait limit -1"),
    ("solve heat --wait-limit nan", USAGE, "--wait-limit 'nan'"),
    # Files to write
    ("solve heat --output u.txt --ranks 2", USAGE, r"u\.txt", r"\.npy", r"\.png"),
    ("solve heat --output u", USAGE, "'u'", r"\.npy", r"\.png"),
    ("solve heat --output nowhere/u.npy --ranks 2", USAGE, "nowhere/u.npy",
     "no folder 'nowhere'", "create it"),
    ("solve heat --output nowhere/u.png", USAGE, "no folder 'nowhere'"),
    ("solve heat --output folder.npy --ranks 2", USAGE, "folder.npy", "it is a folder"),
    ("solve heat --output file/u.npy", USAGE, "file/u.npy", "'file' is not a folder"),
    ("solve heat --json nowhere/r.json", USAGE, "nowhere/r.json", "no folder 'nowhere'"),
    ("solve heat --json folder --ranks 2", USAGE, "cannot write '.*folder'", "it is a folder"),
    ("solve heat --trace nowhere/t.json --ranks 2", USAGE, "no folder 'nowhere'"),
    (f"solve heat --json {'x' * 300}", USAGE, "name is too long"),
    (["solve", "heat", "--output", ""], USAGE, "--output '' is empty"),
    (["solve", "heat", "--json", ""], USAGE, "--json '' is empty"),
    # Files to read
    ("solve heat --cells 5x4 --initial missing.npy", USAGE, "missing.npy", "[Nn]o such file"),
    ("solve heat --cells 5x4 --initial missing.npy --ranks 2", USAGE, "missing.npy"),
    ("solve heat --cells 5x4 --initial folder.npy", USAGE, "folder.npy", "folder|directory"),
    ("solve heat --cells 5x4 --initial shape.npy --ranks 2", USAGE, "shape.npy",
     r"\(5, 4\)", r"\(4, 5\)"),
    ("solve heat --cells 5x4 --initial axes.npy", USAGE, r"\(20,\)", r"\(4, 5\)"),
    ("solve heat --cells 5x4 --initial type.npy", USAGE, "'<f4'", "'<f8'"),
    ("solve heat --cells 5x4 --initial right.npy --precision f32", USAGE, "'<f8'", "'<f4'"),
    ("solve heat --cells 5x4 --initial integers.npy", USAGE, "'<i8'", "'<f8'"),
    ("solve heat --cells 5x4 --initial complex.npy", USAGE, "'<c16'", "'<f8'"),
    ("solve heat --cells 5x4 --initial big_endian.npy --ranks 2", USAGE, "big-endian", "astype"),
    ("solve heat --cells 5x4 --initial fortran.npy --ranks 2", USAGE, "Fortran order",
     "ascontiguousarray"),
    ("solve heat --cells 5x4 --initial records.npy --ranks 2", USAGE, "records.npy", "records"),
    ("solve heat --cells 5x4 --initial objects.npy", USAGE, "objects"),
    ("solve heat --cells 5x4 --initial text.npy", USAGE, "'<U3'", "'<f8'"),
    ("solve heat --cells 5x4 --initial truncated.npy --ranks 2", USAGE, "truncated",
     "160 bytes", "159"),
    ("solve heat --cells 5x4 --initial header_only.npy", USAGE, "truncated"),
    ("solve heat --cells 5x4 --initial version.npy", USAGE, r"version 9\.0"),
    ("solve heat --cells 5x4 --initial header.npy", USAGE, "malformed header", "dexcr"),
    ("solve heat --cells 5x4 --initial empty.npy", USAGE, "empty.npy", "not a .npy file|truncated"),
    ("solve heat --cells 5x4 --initial picture.npy --ranks 2", USAGE, "not a .npy file",
     "numpy.save"),
    ("solve heat --cells 5x4 --initial file", USAGE, "'file'", "not a .npy file"),
]


def name_of(case):
    words = case[0] if isinstance(case[0], str) else " ".join(word or "''" for word in case[0])
    return words.removeprefix("solve ").replace(" ", "_")[:60]


def refuse(words, code, patterns, folder):
    before = sorted(os.listdir(folder))
    end = run(*words, cwd=folder, timeout=120)
    assert end.code == code, end
    assert end.out == ""
    assert re.fullmatch(r"halocline: [^\n]+\n", end.err), end.err
    for pattern in patterns:
        assert re.search(pattern, end.err), (pattern, end.err)
    assert sorted(os.listdir(folder)) == before


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_refused(case, folder):
    words, code, *patterns = case
    refuse(words.split() if isinstance(words, str) else words, code, patterns, folder)


def test_smoke_refused(folder):
    refuse("solve laplace --ranks 2 --simd mmx".split(), USAGE, ["mmx"], folder)
    refuse("solve laplace --ranks 2 --cells 1e9x1e9 --backend cpu".split(), FAILURE,
           ["13.9 EiB"], folder)
    refuse("solve heat --ranks 2 --output nowhere/u.npy".split(), USAGE, ["nowhere"], folder)


@pytest.mark.parametrize("words", ["--backend cuda", "--backend cuda --ranks 2", "--memory device",
                                   "--memory managed --ranks 2", "--memory system --backend cpu"])
def test_a_gpu_that_is_not_there(words, folder, gpu):
    if gpu:
        pytest.skip(f"there is a GPU: {gpu}")
    refuse(["solve", "heat", *words.split()], UNAVAILABLE,
           ["backend cuda cannot be used|memory needs a GPU", "without CUDA|NVIDIA driver",
            "use --backend cpu|leave --memory out|use host memory"], folder)


def test_an_error_comes_before_the_work(folder):
    """No output can be written there: that is found out before the sweeps, not after them."""
    refuse("solve laplace --sweeps 1000000 --tolerance 0 --output nowhere/u.npy".split(), USAGE,
           ["nowhere"], folder)


@pytest.mark.parametrize("words", ["solve heat --json /dev/full",
                                   "solve heat --quiet --json /dev/full --ranks 2"])
def test_a_device_that_takes_nothing(words):
    end = run(*words.split())
    assert end.code == FAILURE
    assert re.fullmatch(r"halocline: [^\n]*/dev/full[^\n]*No space left[^\n]*\n", end.err), end.err


@pytest.mark.parametrize("words", ["solve heat", "solve heat --json -", "solve heat --ranks 2",
                                   "--help", "--version"])
def test_a_standard_output_that_takes_nothing(words):
    with open("/dev/full", "w") as full:
        end = run(*words.split(), stdout=full)
    assert end.code == FAILURE
    assert "standard output" in end.err


@pytest.mark.parametrize("mine, other", [("--seed=1", "--seed=2"), ("--sweeps=2", "--sweeps=3"),
                                         ("--set=centre=0.25", "--set=centre=0.5")])
def test_options_that_differ_between_ranks(mine, other, mpirun):
    words = ["solve", "star7", "--cells", "8x8x8", "--backend", "cpu"]
    end = run(*words, mine, ":", "-n", "1", HALOCLINE, *words, other, timeout=60, **mpirun(ranks=1))
    assert (end.code, end.out) == (USAGE, "")
    ours = [line for line in end.err.splitlines() if line.startswith("halocline: ")]
    assert len(ours) == 1 and "options differ" in ours[0]
    for word in (mine, other):
        assert word.split("=")[-1] in ours[0]


def test_other_ranks_than_the_launcher_started(mpirun):
    end = run("solve", "heat", "--ranks", "3", **mpirun(ranks=2))
    assert end.code == USAGE
    assert end.out == ""
    ours = [line for line in end.err.splitlines() if line.startswith("halocline: ")]
    assert len(ours) == 1
    assert re.search("--ranks 3.*started 2.*leave --ranks out", ours[0])
