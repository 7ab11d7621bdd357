# SPDX-License-Identifier: Apache-2.0
"""Examples on top of NVIDIA's libraries, or of what stands for them where CUDA runs on the CPU."""

import re

import pytest

from gallery import emulation, run, skip

# Of 20 sweeps on 50x50 cells, as `halocline solve laplace` has them.
CHECKSUM, NORM = "25dbf9af6fbcdcf7", 0.166425139
LIBRARIES = {"nccl": "NCCL", "nvshmem": "NVSHMEM"}


def order(ranks):
    """Kernels wait for those of other ranks."""
    return {"CUDA_ON_CPU_ORDER": "thread" if ranks == 2 else "eager"}


def check(out, ranks, names):
    lines = out.splitlines()
    assert lines[0] == f"laplace, 50x50 cells, f32, 20 sweeps with their norms, ranks: {ranks}"
    checksum, norm = re.fullmatch(r"checksum (\w+), last norm (\S+)", lines[1]).groups()
    assert (checksum, float(norm)) == (CHECKSUM, NORM)
    rows = [re.fullmatch(r"(.*?) {2,}[\d.]+( +\d+)?", line).groups() for line in lines[4:]]
    assert [name for name, _ in rows] == [*names, "serial loop"]
    assert [int(wrong) for _, wrong in rows[:-1]] == [0] * len(names)


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("library", LIBRARIES)
def test_laplace_gpu(library, ranks):
    end = run(f"laplace_{library}", 50, 20, ranks=ranks, env=order(ranks), needs=library)
    if end.code in (3, 4) and not end.out:
        skip(end.err.splitlines()[0], needs=library)
    assert end.code == 0, end
    name = LIBRARIES[library]
    check(end.out, ranks, [f"{name}, stream", f"{name}, graph"])


@pytest.mark.parametrize("ranks", [1, 2])
def test_laplace_gpu_by_halocline(ranks):
    end = run("laplace_halocline", 50, 20, ranks=ranks, env=order(ranks))
    assert end.code == 0, end
    check(end.out, ranks, [re.search(r"^Halocline, \w+", end.out, re.MULTILINE)[0]])


@emulation
@pytest.mark.parametrize("program, limits", [("laplace_nccl", {"NCCL_ON_CPU": "no-init"}),
                                             ("laplace_nvshmem", {"NVSHMEM_ON_CPU": "no-init"}),
                                             ("laplace_nvshmem", {"CUDA_ON_CPU_DRIVER": "absent"})])
def test_laplace_gpu_says_why_it_does_not_start(program, limits):
    end = run(program, 50, 20, ranks=2, env=limits)
    assert end.code in (3, 4) and not end.out
    assert any(why in end.err for why in ("ncclCommInitRank", "did not start", "no GPU here"))


@emulation
def test_laplace_gpu_needs_memory():
    end = run("laplace_nvshmem", 600, 5, env={**order(1), "NVSHMEM_ON_CPU": "small-heap"})
    assert end.code == 4 and "NVSHMEM_SYMMETRIC_SIZE" in end.err


@emulation
@pytest.mark.parametrize("words", [["many"], [2, 5], [50, 0], [30000, 1000], [50, 20, 1]])
def test_laplace_gpu_wants_cells_and_sweeps(words):
    end = run("laplace_nccl", *words, ranks=3, env=order(3))
    assert end.code == 2 and "usage: " in end.err
