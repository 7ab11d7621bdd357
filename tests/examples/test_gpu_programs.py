# SPDX-License-Identifier: Apache-2.0
"""Examples in CUDA: on a GPU, on one run on the CPU, and on the host where there is none."""

import pytest

from gallery import EMULATED, emulation, output, run

PLACES = ["on host memory: no GPU here", "on device memory as it is", "through the host: MPI "]


@pytest.mark.parametrize("ranks", [1, 3])
def test_pi_gpu(ranks):
    out = output("pi_gpu", ranks=ranks)
    assert out.startswith(f"pi = 3.14159265359 by 1024000 cells, ranks: {ranks}, ")
    assert ", each with a GPU, off" in out or not EMULATED and ", no GPU here: on the host" in out


def test_saxpy_gpu():
    lines = output("saxpy", 100000, ranks=2).splitlines()
    if len(lines) == 1 and not EMULATED:
        assert lines == ["no GPU here: on the host, which needs no stream: "
                         "0 of 100000 values wrong"]
        return
    # Whether the fault shows is a matter of time; here the GPU does nothing before it must.
    assert lines[0] == "stream synchronised before MPI_Send: 0 of 100000 values wrong"
    assert lines[1:] == ["not synchronised: 100000 of 100000 values wrong, 100000 of them from "
                         "before the kernel"]


def test_saxpy_gpu_wants_two_ranks_and_a_number():
    for ranks, n in ((1, 1000), (2, "many")):
        end = run("saxpy", n, ranks=ranks)
        assert end.code == 2 and "N from 1 to 10^8, on 2 ranks" in end.err


def places(ranks, env):
    lines = [line.split(None, 1) for line in
             output("collectives_gpu", ranks=ranks, env=env).splitlines()]
    assert [name for name, _ in lines] == ["bcast", "allreduce", "alltoall"]
    assert all(text.startswith("right, ") for _, text in lines), lines
    return {next(i for i, place in enumerate(PLACES) if place in text) for _, text in lines}


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_collectives_gpu(ranks):
    # An MPI that touches this device memory dies of it.
    found = places(ranks, {})
    assert found == {2} or not EMULATED


@emulation
def test_collectives_gpu_where_mpi_takes_device_memory():
    assert places(3, {"CUDA_ON_CPU_DEVICE_MEMORY": "host-readable"}) == {1}


@emulation
@pytest.mark.parametrize("program", ["pi_gpu", "saxpy", "collectives_gpu"])
def test_without_a_gpu_the_host_does_it(program):
    assert "no GPU here" in output(program, ranks=2, env={"CUDA_ON_CPU_DRIVER": "absent"})
