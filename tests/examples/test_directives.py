# SPDX-License-Identifier: Apache-2.0
"""The programs with directives, and the conversion."""

import json
import re

import numpy as np
import pytest

from gallery import EMULATED, ROOT, output, run, skip

PROGRAMS = ["laplace_threads", "laplace_openacc", "laplace_offload", "laplace_both_openacc",
            "laplace_both_openmp", "laplace_openacc_c"]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("ranks, cells, tolerance, sweeps, norm, total, checksum", [
    (1, "64x64", 0, 526, 0.012472773, 767.048512190739, "3b97bf2af2c55464"),
    (2, "256x128", 0.05, 199, 0.049954430, 13630.1557717833, "528098ec285fe4a5"),
    (4, "64x64", 0, 526, 0.012472773, 767.048512190739, "3b97bf2af2c55464"),
])
def test_laplace_is_the_problem(program, ranks, cells, tolerance, sweeps, norm, total, checksum):
    report = json.loads(output(program, "--cells", cells, "--tolerance", tolerance, "--json", "-",
                               ranks=ranks, needs="fortran"))
    assert report["checksum"] == checksum
    assert (report["sweeps"], report["ranks"], report["process_grid"][:2]) == (sweeps, ranks, [1, ranks])
    assert report["sum"] == pytest.approx(total, rel=1e-12)
    [[last, value]] = report["norm_history"]
    assert last == sweeps - 1 and value == pytest.approx(norm, abs=1e-9)


@pytest.mark.parametrize("program", ["laplace_openacc", "laplace_openacc_c"])
def test_laplace_tells_what_it_used(program):
    text = output(program, "--cells", "32x32", "--sweeps", 3, "--transport", "mpi", ranks=2,
                  needs="fortran")
    assert "3 sweeps" in text and "same-node mpi" in text and "backend       openacc on" in text
    if "host memory" in text:
        assert "the directives ran on the host" in text


@pytest.mark.parametrize("program", ["laplace_openacc", "laplace_openacc_c"])
@pytest.mark.parametrize("words, used", [([], "mpi"), (["--transport", "shared"], "shared")])
def test_laplace_takes_the_transport_of_the_environment(program, words, used):
    text = output(program, "--cells", "32x32", "--sweeps", 3, *words, ranks=2,
                  needs="fortran", env={"LAPLACE_TRANSPORT": "mpi", "CUDA_VISIBLE_DEVICES": ""})
    assert f"same-node {used}" in text


@pytest.mark.parametrize("program, words", [
    ("laplace_openacc", ["--cells", "64"]), ("laplace_openacc", ["--sweeps", "many"]),
    ("laplace_openacc", ["--tolerance"]), ("laplace_openacc_c", ["--cells", "0x4"]),
    ("laplace_openacc_c", ["--colour", "red"])])
def test_laplace_refuses(program, words):
    end = run(program, *words, ranks=1, needs="fortran")
    assert end.code == 2 and "options: --cells NXxNY" in end.err, end


def jacobi(nx, ny, sweeps):
    """The sum of all bits after the lab's sweeps, and the norm of the first."""
    rows = np.arange(ny - 2)
    edge = np.sin(2 * np.pi * (rows + 1) / (ny - 1)).astype(np.float32)
    old = np.zeros((ny - 2, nx), np.float32)
    old[:, 0] = old[:, -1] = edge
    first = None
    for _ in range(sweeps):
        new = old.copy()
        up, down = np.roll(old, 1, axis=0), np.roll(old, -1, axis=0)
        new[:, 1:-1] = np.float32(0.25) * ((old[:, :-2] + old[:, 2:]) +
                                           (up[:, 1:-1] + down[:, 1:-1]))
        if first is None:
            first = np.sqrt(np.sum((new.astype(float) - old) ** 2))
        old = new
    return int(old.view(np.uint32).astype(np.uint64).sum()), first


@pytest.mark.parametrize("program", ["jacobi_before", "jacobi_after"])
@pytest.mark.parametrize("ranks", [1, 3])
def test_conversion_on_gpu_changes_nothing(program, ranks):
    if not EMULATED:
        end = run(program, 40, 23, 1, ranks=ranks)
        if end.code != 0:
            skip(end.err.splitlines()[0], needs="gpu")
    bits, norm = jacobi(40, 23, 30)
    order = {"CUDA_ON_CPU_ORDER": "eager"}
    said = output(program, 40, 23, 30, ranks=ranks, env=order).splitlines()
    assert said[0].split(",")[0].strip() == "0"
    assert float(said[0].split(",")[1]) == pytest.approx(norm, abs=1e-5)
    assert said[-1].startswith("40x23: ") and said[-1].endswith(f"bits {bits:016x}")


@pytest.mark.parametrize("page, blocks, sources", [
    ("conversion", 17, ["cartesian/cartesian_cpp.cpp", "cartesian/cartesian_c.c",
                        "cartesian/cartesian_fortran.f90"]),
    ("conversion-gpu", 4, ["conversion/jacobi_before.cu", "conversion/jacobi_after.cu"])])
def test_code_of_conversions_is_that_of_the_examples(page, blocks, sources):
    squeeze = lambda text: re.sub(r"\s+", "", text)  # noqa: E731
    programs = "".join(squeeze((ROOT / "examples" / source).read_text()) for source in sources)
    found = re.findall(r"```(?:cpp|c|fortran)\n(.*?)```", (ROOT / f"docs/{page}.md").read_text(), re.DOTALL)
    assert len(found) == blocks
    for line in "".join(found).splitlines():
        assert squeeze(line) in programs, line
