# SPDX-License-Identifier: Apache-2.0
"""halocline-lab and lab/ab, from outside. $LAB is the path of the program, $HALOCLINE that of the command."""

import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest
from pytest import approx

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "cli"), str(HERE)]
from command import ROOT, run, skip_without_emulation  # noqa: E402
from schema import BENCH_HALO, BENCH_P2P  # noqa: E402
from test_results import memory_group  # noqa: E402, F401
from schemas import (check_copy, check_first_use, check_layout, check_mesh, check_overhead,  # noqa: E402
                     check_progress)

LAB = os.environ.get("LAB", str(ROOT / "build/release/bin/halocline-lab"))
AB = ROOT / "lab" / "ab"
USAGE, UNAVAILABLE = 2, 3


def lab(*words, code=0, **options):
    end = run(*words, program=(LAB,), **options)
    assert end.code == code, f"{words}: exit code {end.code}\n{end.out}{end.err}"
    return end


def report_of(check, *words, **options):
    """The report as text and as JSON."""
    folder = options["cwd"]
    end = lab(*words, "--json", "r.json", **options)
    assert max(map(len, end.out.splitlines())) <= 100
    report = json.loads((folder / "r.json").read_text())
    check(report)
    return end.out, report


def deadlocks_in(report):
    return [(case["order"], case["circle"]) for case in report["cases"] if case["deadlock"]]


def test_mesh_tells_a_deadlock_and_goes_on(tmp_path):
    out, report = report_of(check_mesh, "mesh", "--ranks", "2", "--sizes", "8,1Mi", "--repetitions", "3",
                            "--trace", "t.json", cwd=tmp_path)
    assert [(case["bytes"], case["order"]) for case in report["cases"]] == [
        (size, order) for size in (8, 1 << 20)
        for order in ("send-first", "ordered", "irecv-send", "irecv-isend")]
    assert deadlocks_in(report) == [("send-first", [0, 1])]
    assert re.search(r"^    send-first  1 MiB: 0 -> 1 -> 0: each waits in a send", out, re.MULTILINE)
    assert re.search(r"^    1 MiB +send-first  +- +- +- +-  deadlock$", out, re.MULTILINE)
    assert len(re.findall(r"^    rank [01]  \|[srx. ]{64}\| ", out, re.MULTILINE)) == 8
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    sends = [event for event in events if event["name"].startswith("send to rank ")]
    assert {event["pid"] for event in sends} == {0, 1}
    assert {event["cat"] for event in sends} == {case["order"] for case in report["cases"]}
    assert any(event["name"] == "send-first, 1048576 bytes: deadlock" for event in events)


def test_mesh_of_two_axes(tmp_path):
    _, report = report_of(check_mesh, "mesh", "--process-grid", "2x2", "--periodic", "xy", "--sizes", "1Mi",
                          "--orders", "ordered,irecv-send", "--repetitions", "3", cwd=tmp_path)
    assert report["ranks"] == 4, "where nothing says how many"
    assert deadlocks_in(report) == [("ordered", [0, 1])]
    assert report["cases"][0]["others_stuck"] == 2
    assert report["cases"][1]["relative"] is None and report["messages"] == 4


def test_progress_in_every_mode(tmp_path):
    out, report = report_of(check_progress, "progress", "--memory", "host", "--sizes", "8,64Ki",
                            "--repetitions", "3", cwd=tmp_path)
    assert report["threads"] == "MPI_THREAD_MULTIPLE"
    assert [(case["transport"], case["bytes"], case["mode"]) for case in report["cases"]] == [
        (transport, size, mode) for transport in ("shared", "mpi") for size in (8, 65536)
        for mode in ("alone", "work", "busy", "tests", "thread")]
    for case in report["cases"]:
        if case["mode"] == "busy":
            size = "8 B" if case["bytes"] == 8 else "64 KiB"
            below, percent = re.search(
                rf"^    host    {case['transport']} +{size} +\S+ +\S+ +\S+ +(< )?(\S+) ",
                out, re.MULTILINE).groups()
            if below:
                assert percent == "-100" and case["overlap"] < -1
            else:
                assert float(percent) == approx(100 * case["overlap"], abs=0.51)


def test_copies(tmp_path):
    _, report = report_of(check_copy, "copy", "--repetitions", "2", "--sizes", "4Ki", cwd=tmp_path)
    assert report["ranks"] == 1
    assert (report["cases"][0]["from"], report["cases"][0]["to"]) == ("host", "host")


def test_first_exchanges(tmp_path):
    _, report = report_of(check_first_use, "first-use", "--memory", "host", "--exchanges", "12", "--sizes",
                          "64,4Ki", cwd=tmp_path)
    assert report["ranks"] == 2, "where nothing says how many"
    assert [(case["transport"], case["bytes"]) for case in report["cases"]] == [
        ("shared", 64), ("shared", 4096), ("mpi", 64), ("mpi", 4096)]
    assert all(len(case["exchanges_us"]) == 12 for case in report["cases"])


def test_overheads_need_a_gpu(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert lab("overhead", "--repetitions", "3", code=UNAVAILABLE).out == ""


def test_views_of_bricks(tmp_path):
    if os.sysconf("SC_PAGESIZE") != 4096:
        pytest.skip("a brick of 8x8x8 cells in fp64 is no page here")
    out, report = report_of(
        check_layout, "layout", "--ranks", "2", "--backend", "cpu", "--cells-per-rank", "16x8x8", "--ways",
        "mpi,mapped_views", "--steps", "1", "--sweeps", "8", "--repetitions", "2", cwd=tmp_path)
    assert [(case["way"], case["layout"]) for case in report["cases"]] == [
        ("mpi", "array"), ("mpi", "brick"), ("mapped_views", "brick")]
    views = report["cases"][2]
    # One neighbour along z gets 16x8 cells, by whole bricks: two, that lie together both up and down.
    assert (views["needed_bytes"], views["bytes"], views["mapped_pieces"]) == (1024 * 2, 1024 * 16, 2)
    assert "  mapped_views, brick, 1 step: 2 KiB of 16 KiB are halo, mapped from 2 pieces\n" in out


def test_a_bad_word_ends_the_program_with_its_code(tmp_path):
    end = lab("mesh", "--ranks", "2", "--sizes", "8", "--trace", "no/such/file", code=USAGE, cwd=tmp_path)
    assert end.out == "" and "no/such/file" in end.err
    assert end.err.count("halocline: ") == 1


@pytest.mark.parametrize("words", ["mesh --ranks 2 --sizes 256Mi", "progress --sizes 1Gi --memory host",
                                   "first-use --sizes 512Mi"])
def test_memory_is_asked_for_first(words, memory_group):
    end = run(*words.split(), program=[*memory_group[:-1], LAB])
    assert end.code == 4 and "bytes" in end.err and "free of" in end.err, end
    assert "use smaller messages" in end.err


# Where CUDA runs on the CPU


def test_gpus_by_every_transport_that_can(monkeypatch, tmp_path):
    skip_without_emulation()
    monkeypatch.setenv("CUDA_ON_CPU_DEVICE_MEMORY", "host-readable")
    _, report = report_of(check_progress, "progress", "--repetitions", "3", "--sizes", "4Ki", "--proofs",
                          tmp_path / "proofs.json", cwd=tmp_path)
    assert {(case["memory"], case["transport"]) for case in report["cases"]} >= {
        ("device", "peer"), ("device", "gpu_aware"), ("device", "staged"), ("host", "shared"),
        ("host", "mpi")}


def test_copies_between_gpus(tmp_path):
    skip_without_emulation()
    _, report = report_of(check_copy, "copy", "--ranks", "2", "--repetitions", "2", "--sizes", "1Ki",
                          cwd=tmp_path)
    assert [(case["from"], case["to"]) for case in report["cases"]] == [
        ("host", "host"), ("pinned", "device"), ("device", "pinned"), ("host", "device"),
        ("device", "host"), ("device", "device"), ("device", "next device")]


def test_overheads(tmp_path):
    skip_without_emulation()
    words = ["overhead", "--repetitions", "3", "--sizes", "8,1Ki", "--memory-sizes", "4Ki"]
    _, report = report_of(check_overhead, *words, cwd=tmp_path)
    assert [(cost["stand"], cost["bytes"]) for cost in report["messages"]] == [
        (stand, size) for stand in ("before-gpu", "host", "pinned") for size in (8, 1024)]
    assert [(cost["name"], cost["bytes"]) for cost in report["pinning"]] == [
        (name, 4096) for name in ("pageable", "pinned", "register", "unregister")]
    assert "host-function" in {cost["name"] for cost in report["waiting"]}
    assert "--ranks 2" in lab(*words, "--ranks", "1").out


# lab/ab, with a program in place of the command


@pytest.fixture
def fake(tmp_path):
    """A program whose report has twice the time, of another transport if OTHER is set, where X is set."""
    path = tmp_path / "fake"
    path.write_text(f"""#!{sys.executable}
import json, os, sys, time
time.sleep(float(os.environ.get("WAIT", 0)))
x = os.environ.get("X")
if x == "broken":
    sys.exit(3)
count = len(open("calls").readlines()) if os.path.exists("calls") else 0
open("calls", "a").write(f"{{x}}\\n")
case = {{"cells_per_rank": [64, 32], "width": 1, "fields": 1, "memory": "host", "graph": "off",
        "transport": "other" if x == "other" else "mpi", "median_us": (128 if x else 60) + 4 * count}}
json.dump({{"cases": [case], "notes": ["a note"]}}, open(sys.argv[sys.argv.index("--json") + 1], "w"))
""")
    path.chmod(0o755)
    return path


def ab(*words, folder, **variables):
    return subprocess.run([AB, *words], cwd=folder, env={**os.environ, **variables}, text=True,
                          capture_output=True, timeout=60)


def test_ab_takes_medians_of_alternating_runs(fake, tmp_path):
    end = ab("X=1=2", fake, "bench", "halo", folder=tmp_path)
    assert (end.returncode, end.stderr) == (0, "")
    assert (tmp_path / "calls").read_text().split() == ["None", "1=2"] * 2
    # A: 60 and 68, B: 132 and 140.
    assert re.search(r"^  64 +136 +2\.125$", end.stdout, re.MULTILINE), end.stdout
    assert end.stdout.count("note: A: a note") == 1
    end = ab("X-", fake, "bench", "halo", folder=tmp_path, X="1")
    assert (tmp_path / "calls").read_text().split()[4:] == ["1", "None"] * 2


def test_ab_tells_a_case_of_one_side(fake, tmp_path):
    out = ab("X=other", fake, "bench", "halo", folder=tmp_path).stdout
    assert re.search(r"^  mpi +64 +- +-$", out, re.MULTILINE), out
    assert re.search(r"^  other +- +136 +-$", out, re.MULTILINE), out


def test_ab_refuses_and_reports(fake, tmp_path):
    for words in (["X", fake, "bench", "halo"], ["=1", fake, "bench", "halo"], ["-", fake, "bench", "halo"],
                  ["X=1", fake, "bench", "step"], ["X=1", fake]):
        assert ab(*words, folder=tmp_path).returncode == USAGE, words
    end = ab("X=broken", fake, "bench", "halo", folder=tmp_path)
    assert end.returncode == 3 and end.stdout == "" and "B" in end.stderr


def test_ab_leaves_nothing_behind_a_signal(fake, tmp_path):
    variables = {**os.environ, "WAIT": "30", "TMPDIR": str(tmp_path)}
    with subprocess.Popen([AB, "X=1", fake, "bench", "halo"], cwd=tmp_path, env=variables) as job:
        while not list(tmp_path.glob("halocline-*")):
            time.sleep(0.02)
        time.sleep(0.3)
        job.send_signal(signal.SIGTERM)
        assert job.wait(20) == 128 + signal.SIGTERM
    assert not list(tmp_path.glob("halocline-*"))


def test_ab_reads_what_benchmarks_write():
    loader = importlib.machinery.SourceFileLoader("ab", str(AB))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("ab", loader))
    loader.exec_module(module)
    for name, schema in (("halo", BENCH_HALO), ("p2p", BENCH_P2P)):
        keys, measured = module.KINDS[name]
        known = schema["properties"]["cases"]["items"]["properties"]
        assert {*keys, *measured} <= set(known)
        assert schema["properties"]["notes"]
