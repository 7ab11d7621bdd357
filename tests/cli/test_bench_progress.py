# SPDX-License-Identifier: Apache-2.0
"""`halocline bench progress` and `halocline bench overhead`, from outside."""

import json
import re

import pytest

from command import run, skip_without_emulation
from schema import check_bench_overhead, check_bench_progress

USAGE, UNAVAILABLE = 2, 3
PROGRESS = ["bench", "progress", "--repetitions", "3"]
OVERHEAD = ["bench", "overhead", "--repetitions", "3"]


def json_of(check, *words, **options):
    end = run(*words, "--json", "-", **options)
    assert end.code == 0, f"{words}: exit code {end.code}\n{end.out}{end.err}"
    report = json.loads(end.out)
    check(report)
    return report


def test_smoke_table_and_json_tell_the_same(tmp_path):
    end = run(*PROGRESS, "--memory", "host", "--sizes", "8,64Ki", "--json", "r.json", cwd=tmp_path)
    assert (end.code, end.err) == (0, "")
    report = json.loads((tmp_path / "r.json").read_text())
    check_bench_progress(report)
    assert report["threads"] == "MPI_THREAD_MULTIPLE"
    assert [(case["transport"], case["bytes"], case["mode"]) for case in report["cases"]] == [
        (transport, size, mode) for transport in ("shared", "mpi") for size in (8, 65536)
        for mode in ("alone", "work", "busy", "tests", "thread")]
    for case in report["cases"]:
        if case["mode"] == "busy":
            size = "8 B" if case["bytes"] == 8 else "64 KiB"
            below, percent = re.search(
                rf"^    host    {case['transport']} +{size} +\S+ +\S+ +\S+ +(< )?(\S+) ",
                end.out, re.MULTILINE).groups()
            if below:
                assert percent == "-100" and case["overlap"] < -1
            else:
                assert float(percent) == pytest.approx(100 * case["overlap"], abs=0.51)
    assert max(map(len, end.out.splitlines())) <= 100


def test_modes_of_choice(mpirun):
    report = json_of(check_bench_progress, *PROGRESS, "--memory", "host", "--transport", "mpi",
                     "--sizes", "8", "--modes", "tests", "--tests", "5", **mpirun(2))
    assert [case["mode"] for case in report["cases"]] == ["alone", "work", "tests"]
    assert report["parts"] == 5
    end = run(*PROGRESS, **mpirun(3))
    assert end.code == USAGE and "between 2 ranks" in end.err


def test_smoke_gpus_by_every_transport_that_can(monkeypatch, tmp_path):
    skip_without_emulation()
    monkeypatch.setenv("CUDA_ON_CPU_DEVICE_MEMORY", "host-readable")
    report = json_of(check_bench_progress, *PROGRESS, "--sizes", "4Ki", "--proofs",
                     tmp_path / "proofs.json")
    assert {(case["memory"], case["transport"]) for case in report["cases"]} == {
        ("device", "peer"), ("device", "gpu_aware"), ("device", "staged"), ("host", "shared"),
        ("host", "mpi")}


def test_smoke_overheads():
    skip_without_emulation()
    words = [*OVERHEAD, "--sizes", "8,1Ki", "--memory-sizes", "4Ki"]
    report = json_of(check_bench_overhead, *words, "--ranks", "2")
    assert [(cost["stand"], cost["bytes"]) for cost in report["messages"]] == [
        (stand, size) for stand in ("before-gpu", "host", "pinned") for size in (8, 1024)]
    assert [(cost["name"], cost["bytes"]) for cost in report["pinning"]] == [
        (name, 4096) for name in ("pageable", "pinned", "register", "unregister")]
    assert "host-function" in {cost["name"] for cost in report["waiting"]}
    end = run(*words, "--ranks", "1")
    assert end.code == 0 and "--ranks 2" in end.out
    assert max(map(len, end.out.splitlines())) <= 100


def test_overheads_need_a_gpu(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    end = run(*OVERHEAD)
    assert end.code == UNAVAILABLE and end.out == ""


@pytest.mark.parametrize("words, says", [
    ("progress --modes asleep", ["'asleep'", "busy, tests, thread"]),
    ("progress --tests 0", ["0 parts"]),
    ("progress --sizes 0", ["0 bytes"]),
    ("progress --memory lake", ["'lake'"]),
    ("progress --transport pigeon", ["'pigeon'"]),
    ("progress --ranks 2", ["--ranks", "bench progress --help"]),
    ("overhead --ranks 2 --sizes 2Gi", ["2147483648 bytes"]),
    ("overhead --memory-sizes 0", ["0 bytes"]),
])
def test_bad_input(words, says, tmp_path):
    end = run("bench", *words.split(), cwd=tmp_path)
    assert (end.code, end.out) == (USAGE, "")
    for text in says:
        assert text in end.err, end.err
