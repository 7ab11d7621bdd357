# SPDX-License-Identifier: Apache-2.0
"""Several nodes, made of network namespaces."""

import json

import pytest

from command import HALOCLINE, run, thorough
from hosts import hosts
from schema import check_doctor

NO_GPU = {"CUDA_ON_CPU_DEVICES": "0", "CUDA_VISIBLE_DEVICES": "", "HALOCLINE_ASSUME_GPU": "0"}


def doctor(some, mpirun, env, ranks_each=1):
    """Runs doctor on the first of some hosts, over all of them; returns its report."""
    words = some.launcher(mpirun, ranks_each)
    end = run("doctor", "--launcher", words, "--ranks", ranks_each * len(some.names), "--time-limit",
              "30", "--json", "-", program=some.on_first(HALOCLINE), env=env, timeout=200)
    assert end.out.startswith("{"), end
    report = json.loads(end.out)
    check_doctor(report, end.code)
    assert report["nodes"] == len(some.names)
    assert list(report["facts"]["nodes"]) == some.names
    return report


def outcomes_between_nodes(report):
    return {(path["path"], path["memory"]): path["outcome"] for path in report["paths"]
            if path["pair"] == "other-node" and not path["with"]}


def test_smoke_a_solve_over_two_hosts(tmp_path, mpirun):
    ranks_each = 2 if mpirun.is_open_mpi else 1  # with two MPICH hangs more often: see hosts.py
    with hosts(tmp_path, ["n1", "n2"]) as pair:
        end = run("solve", "laplace", "--cells", "64x64", "--sweeps", "4", "--json", "-",
                  **pair.mpirun(mpirun, ranks_each))
    report = json.loads(end.out)
    assert (report["ranks"], report["nodes"]) == (2 * ranks_each, 2)
    one_node = json.loads(run("solve", "laplace", "--cells", "64x64", "--sweeps", "4", "--json",
                              "-").out)
    assert report["checksum"] == one_node["checksum"]


def test_doctor_names_the_slow_one_of_three_hosts(tmp_path, mpirun):
    with hosts(tmp_path, ["n1", "n2", "n3"], slow=["n3"], mbit_per_second=20) as three:
        report = doctor(three, mpirun, NO_GPU)
    slow = [finding for finding in report["findings"] if "node n3 is slow to" in finding["what"]]
    assert slow and slow[0]["severity"] == "slow", report["findings"]
    assert len(report["links"]) == 3
    assert {one["host"] for one in report["speeds"]} == {"n1", "n2", "n3"}
    works = outcomes_between_nodes(report)
    ways = ("MPI_Send", "MPI_Isend", "MPI_Send_init", "MPI_Sendrecv", "mpi")
    assert works == {(way, "host"): "works" for way in ways}
    assert report["taken_between_nodes"] == {"host": "mpi", "device": None}
    assert "n1:1,n2:1,n3:1 -n 3 halocline solve" in report["launch"]


@thorough
@pytest.mark.parametrize("mbit, words", [(100, "as slow as 100 Mbit/s"), (10, "slower than 100 Mbit/s")])
def test_doctor_knows_a_slow_network_from_a_broken_one(tmp_path, mpirun, mbit, words):
    with hosts(tmp_path, ["n1", "n2"], slow=["n1", "n2"], mbit_per_second=mbit) as two:
        report = doctor(two, mpirun, NO_GPU)
    assert not [finding for finding in report["findings"] if finding["severity"] == "broken"]
    assert set(outcomes_between_nodes(report).values()) == {"works"}
    slow, = [finding for finding in report["findings"] if "network between nodes" in finding["what"]]
    assert words in slow["what"] and slow["severity"] == "slow"


def test_doctor_proves_gpu_aware_between_hosts(tmp_path, mpirun, emulation):
    gpus = {"CUDA_ON_CPU_DEVICES": "1", "HALOCLINE_ASSUME_GPU": "1", "CUDA_VISIBLE_DEVICES": "0",
            "CUDA_ON_CPU_ORDER": "eager", "CUDA_ON_CPU_DEVICE_MEMORY": "host-readable"}
    with hosts(tmp_path, ["n1", "n2"]) as two:
        report = doctor(two, mpirun, gpus)
    works = outcomes_between_nodes(report)
    assert works[("gpu_aware", "device")] == works[("staged", "device")] == "works", report["paths"]
    assert {path["pair"] for path in report["paths"]} == {"other-node"}
