# SPDX-License-Identifier: Apache-2.0
"""The affinity print-out, with the variables of launchers made up."""

import os

import pytest

from gallery import output

# Every variable that the program may read, so that the launcher of these tests does not mix in.
OURS = ("OMPI_", "PMI_", "MPI_LOCAL", "PALS_", "SLURM_", "PBS_", "CUDA_V", "ROCR_", "HIP_", "ZE_")


def line(**variables):
    """What a process says that finds these variables."""
    for name in [name for name in os.environ if name.startswith(OURS)]:
        variables.setdefault(name, None)
    return output("affinity", env=variables).splitlines()[0]


def test_without_a_launcher():
    said = line()
    assert said.startswith("rank 0 of 1, local 0, on ") and "by no launcher, job none" in said


@pytest.mark.parametrize("variables, rank, by", [
    # srun in a batch job
    (dict(SLURM_PROCID="5", SLURM_NTASKS="8", SLURM_LOCALID="1", SLURM_JOB_ID="4711",
          CUDA_VISIBLE_DEVICES="1"),
     "rank 5 of 8, local 1", "by Slurm, job Slurm 4711"),
    # Polaris: PBS holds the nodes, PALS starts the ranks
    (dict(PALS_RANKID="6", PALS_LOCAL_RANKID="2", PMI_RANK="6", PMI_SIZE="8",
          PBS_JOBID="123.polaris-pbs-01", CUDA_VISIBLE_DEVICES="1"),
     "rank 6 of 8, local 2", "by PALS, job PBS 123.polaris-pbs-01"),
    # Aurora: a mask of GPU and tile
    (dict(PALS_RANKID="13", PALS_LOCAL_RANKID="1", PMI_SIZE="24", PBS_JOBID="9.aurora",
          ZE_AFFINITY_MASK="0.1"),
     "rank 13 of 24, local 1", "by PALS, job PBS 9.aurora"),
    # mpirun of Open MPI inside a Slurm job, whose own variables are the batch script's
    (dict(OMPI_COMM_WORLD_RANK="3", OMPI_COMM_WORLD_SIZE="4", OMPI_COMM_WORLD_LOCAL_RANK="3",
          SLURM_PROCID="0", SLURM_NTASKS="4", SLURM_LOCALID="0", SLURM_JOB_ID="12"),
     "rank 3 of 4, local 3", "by Open MPI, job Slurm 12"),
    # MPICH's launcher in a PBS job
    (dict(PMI_RANK="1", PMI_SIZE="2", MPI_LOCALRANKID="1", PBS_JOBID="7.server"),
     "rank 1 of 2, local 1", "by MPICH, job PBS 7.server"),
])
def test_launchers(variables, rank, by):
    said = line(**variables)
    assert said.startswith(rank + ", on ") and by in said
    shown = [f"{name}={value}" for name, value in variables.items() if name in (
        "CUDA_VISIBLE_DEVICES", "ZE_AFFINITY_MASK")]
    assert said.endswith("GPUs " + (shown[0] if shown else "all"))


def test_what_a_launcher_does_not_say_is_a_question_mark():
    assert line(PALS_RANKID="2").startswith("rank 2 of ?, local ?, on ")


def test_cores_are_those_that_the_kernel_allows():
    core = min(os.sched_getaffinity(0))
    allowed = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {core})
        assert f", cores {core}, GPUs" in line()
    finally:
        os.sched_setaffinity(0, allowed)


def test_ranks():
    said = [text for text in output("affinity", ranks=2).splitlines() if text.startswith("rank ")]
    assert sorted(text.split(", on ")[0] for text in said) == ["rank 0 of 2, local 0",
                                                               "rank 1 of 2, local 1"]
