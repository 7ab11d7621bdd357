# SPDX-License-Identifier: Apache-2.0
"""`halocline bench`, from outside."""

import functools
import json
import re

import numpy as np
import pytest

from command import (HALOCLINE, WRONG_SUBARRAYS, bench_json, gpu_name, mpi_that_corrupts, run,
                     skip_without_emulation)
from schema import check_bench_halo, check_bench_p2p, check_bench_step

USAGE, UNAVAILABLE = 2, 3
HALO = ["bench", "halo", "--repetitions", "5"]
STEP = ["bench", "step", "--repetitions", "2"]
P2P = ["bench", "p2p", "--repetitions", "3"]
halo_json = functools.partial(bench_json, check_bench_halo, *HALO[1:])
step_json = functools.partial(bench_json, check_bench_step, *STEP[1:])
p2p_json = functools.partial(bench_json, check_bench_p2p, *P2P[1:])


def transports_of(report):
    return [case["transport"] for case in report["cases"]]


def test_smoke_table_and_json_tell_the_same(tmp_path):
    end = run(*HALO, "--memory", "host", "--cells-per-rank", "24x20,8x6x4", "--fields", "1,2", "--json",
              "r.json", cwd=tmp_path)
    assert end.code == 0 and end.err == "", end.err
    report = json.loads((tmp_path / "r.json").read_text())
    check_bench_halo(report)
    assert end.out.startswith("halo exchange, f64, faces only\n")
    assert report["ranks"] == 2, "where nothing says how many"
    assert transports_of(report) == ["shared", "mpi"] * 4
    assert [case["bytes"] for case in report["cases"]] == [
        cells * 8 * fields for cells in (24, 8 * 6) for fields in (1, 1, 2, 2)]
    rivals = {(*rival["cells_per_rank"], rival["fields"]): rival for rival in report["rivals"]}
    assert len(rivals) == 4
    for case in report["cases"]:
        assert case["repetitions"] == 5 and case["share_of_memcpy"] is not None
        cells = "x".join(map(str, case["cells_per_rank"]))
        median = re.search(rf"^    {cells} +{case['fields']} +{case['transport']} +1 +{case['bytes']} B +"
                           r"\S+ +(\S+)", end.out, re.MULTILINE).group(1)
        assert float(median) == pytest.approx(case["median_us"], rel=1e-2)
        rival = rivals[(*case["cells_per_rank"], case["fields"])]
        assert rival["bytes"] == case["bytes"] and rival["repetitions"] == 5
        assert rival["messages"] == case["fields"]
        assert case["derived_types_us"] == rival["median_us"]
        assert case["derived_types_ratio"] == pytest.approx(rival["median_us"] / case["median_us"])
    rows = re.findall(r"^    (\S+) +([12]) +(\w+|MPI types)  .* (\S+)$", end.out, re.MULTILINE)
    assert [row[:3] for row in rows if row[3] != "rows"][:6] == [
        ("24x20", fields, way) for fields in "12" for way in ("shared", "mpi", "MPI types")]
    assert re.search("^  halo width +1$", end.out, re.MULTILINE), "what all cases have is no column"
    assert not re.search("^    cells/rank .*width", end.out, re.MULTILINE)
    assert "% of memcpy" in end.out and re.search("^  phases: us ", end.out, re.MULTILINE)
    assert "vs MPI types" in end.out


def test_every_option_changes_the_cases(tmp_path):
    end = run(*HALO, "--ranks", "4", "--memory", "host", "--cells-per-rank", "9x8", "--width", "1,2", "--fields",
              "1,3", "--transport", "mpi", "--corners", "--precision", "f32", "--periodic", "xy",
              "--process-grid", "2x2", "--rivals", "none", "--quiet", "--json", "r.json", cwd=tmp_path)
    assert end == (0, "", "")
    report = json.loads((tmp_path / "r.json").read_text())
    check_bench_halo(report)
    assert report["neighbours"] == "all" and report["periodic"] == [True, True, False]
    assert report["rivals"] == []
    # To each side in x and y, and across corners, the same three ranks.
    assert [(case["width"], case["fields"], case["messages"], case["bytes"], case["transport"])
            for case in report["cases"]] == [
        (width, fields, 3, (2 * width * (9 + 8) + 4 * width * width) * 4 * fields, "mpi")
        for width in (1, 2) for fields in (1, 3)]


def test_a_rival_that_moves_wrong_bytes(preload):
    """An MPI whose subarrays begin elsewhere."""
    end = run(*HALO, "--ranks", "2", "--memory", "host", "--cells-per-rank", "8x8",
              "--rivals", "derived_types", env=preload(WRONG_SUBARRAYS))
    assert end.code == 1
    assert re.search(r"halocline: wrong result: .*8x8.* by MPI types: rank \d, field 0", end.err)
    assert re.search(r"^    8x8 +shared ", end.out, re.MULTILINE), "the others are timed"


def test_smoke_a_rival_without_a_proof_says_so():
    skip_without_emulation()
    words = ["--ranks", "2", "--memory", "device,pinned", "--cells-per-rank", "8x8",
             "--transport", "peer"]
    report = halo_json(*words, "--proofs", "/dev/null")
    assert [(rival["memory"], rival["not_run"] is None) for rival in report["rivals"]] == [
        ("device", False), ("pinned", True)]
    assert any("MPI types are not timed with device memory" in note for note in report["notes"])
    assert report["cases"][0]["derived_types_us"] is None


def test_a_rival_with_a_proof_needs_what_mpi_says(preload, tmp_path):
    """MPI takes the memory of GPUs here, as far as bytes in a row go."""
    skip_without_emulation()
    words = ["--ranks", "2", "--memory", "device", "--cells-per-rank", "8x8", "--proofs",
             str(tmp_path / "proofs.json")]
    takes = {"CUDA_ON_CPU_DEVICE_MEMORY": "host-readable"}
    report = halo_json(*words, env=takes)
    assert "gpu_aware" in transports_of(report)
    assert "MPIX_Query_cuda_support" in report["rivals"][0]["not_run"]
    claims = preload("int MPIX_Query_cuda_support(void) { return 1; }")
    report = halo_json(*words, env={**takes, **claims})
    assert report["rivals"][0]["not_run"] is None and report["rivals"][0]["bytes"] == 64


def test_smoke_under_a_launcher(mpirun):
    end = run(*HALO, "--memory", "host", "--cells-per-rank", "8x8", **mpirun(2))
    assert end.code == 0 and end.err == ""
    assert end.out.count("halo exchange") == 1
    assert max(map(len, end.out.splitlines())) <= 100


def test_smoke_step_table_and_json_tell_the_same(tmp_path):
    end = run(*STEP, "--backend", "cpu", "--ranks", "1,2", "--cells", "64x48", "--cells-per-rank",
              "32x32", "--sweeps", "20", "--json", "r.json", cwd=tmp_path)
    assert end.code == 0 and end.err == ""
    report = json.loads((tmp_path / "r.json").read_text())
    check_bench_step(report)
    assert end.out.startswith("laplace, 20 sweeps, first one not counted\n")
    assert re.search("^  ranks +1, 2 on one node, 1 thread each$", end.out, re.MULTILINE)
    assert [(case["scaling"], case["ranks"], case["cells"]) for case in report["cases"]] == [
        ("strong", 1, [64, 48]), ("strong", 2, [64, 48]),
        ("weak", 1, [32, 32]), ("weak", 2, [32, 64])]
    for one, two in (report["cases"][:2], report["cases"][2:]):
        assert one["efficiency"] == 1
        share = 2 if two["scaling"] == "strong" else 1
        assert two["efficiency"] == pytest.approx(one["median_us"] / two["median_us"] / share)
    for case, size in zip(report["cases"], ["64x48"] * 2 + ["32x32 per rank"] * 2):
        median = re.search(rf"^    {size} +{case['ranks']} +\S+ +\S+ +\S+ +(\S+)", end.out,
                           re.MULTILINE).group(1)
        assert float(median) == pytest.approx(case["median_us"], rel=1e-3)
    assert max(map(len, end.out.splitlines())) <= 100


def test_every_option_changes_the_steps(tmp_path):
    end = run(*STEP, "star7", "--backend", "cpu", "--ranks", "1,4", "--cells-per-rank", "8x8x8",
              "--process-grid", "auto,1x2x2", "--sweeps", "4", "--precision", "f32,f64", "--norm",
              "none,max,l2", "--norm-every", "1,3", "--transport", "mpi", "--schedule", "sequential,overlap",
              "--json", "step.json", cwd=tmp_path)
    assert end.code == 0, end.err
    report = json.loads((tmp_path / "step.json").read_text())
    check_bench_step(report)
    assert [(case["precision"], case["norm"], case["norm_every"], case["ranks"], case["process_grid"],
             case["schedule"]) for case in report["cases"]] == [
        (precision, norm, every, int(np.prod(grid)), grid, schedule)
        for precision in ("f32", "f64")
        for norm, every in (("none", 1), ("max", 1), ("max", 3), ("l2", 1), ("l2", 3))
        for grid in ([1, 1, 1], [1, 1, 4], [1, 2, 2]) for schedule in ("sequential", "overlap")]
    rows = re.findall(r" (none|max every sweep|max every 3 sweeps|l2 every sweep|l2 every 3 sweeps) ",
                      end.out, re.MULTILINE)
    assert len(set(rows)) == 5, "every row is told apart"


def test_ranks_with_other_words_are_refused(mpirun):
    words = ["bench", "halo", "--cells-per-rank", "8x8", "--repetitions", "2", "--width"]
    end = run(*words, "1", ":", "-n", "1", HALOCLINE, *words, "2", **mpirun(1))
    assert end.code == USAGE
    ours = [line for line in end.err.splitlines() if line.startswith("halocline: ")]
    assert len(ours) == 1 and "differ" in ours[0] and "«1»" in ours[0] and "«2»" in ours[0]


def test_smoke_step_under_a_launcher(mpirun):
    words = ["--backend", "cpu", "--cells", "24x24", "--sweeps", "5"]
    assert step_json(*words, **mpirun(3))["ranks"] == [1, 2, 3]


def test_steps_on_gpus():
    skip_without_emulation()
    report = step_json("--cells", "32x32", "--sweeps", "300", "--transport", "peer,staged",
                       "--graph", "on,off")
    assert report["ranks"] == [1, 2]
    assert [(case["ranks"], case["transport"], case["sweeps_in_graphs"] > 0)
            for case in report["cases"]] == [
        (1, "none", True), (1, "none", False), (2, "peer", True), (2, "peer", False),
        (2, "staged", False)]
    assert any("transport staged needs the host" in note for note in report["notes"])


def test_graphs_of_exchanges(monkeypatch):
    skip_without_emulation()
    words = ["--ranks", "2", "--cells-per-rank", "16x16", "--transport"]
    report = halo_json(*words, "peer,staged", "--graph", "off,on")
    assert [(case["transport"], case["graph"]) for case in report["cases"]] == [
        ("peer", "off"), ("peer", "on"), ("staged", "off")]
    assert all(case["share_of_link"] is not None for case in report["cases"])
    assert any("by staged" in note and "CUDA graphs" in note for note in report["notes"])
    text = run(*HALO, *words, "peer", "--graph", "off,on").out
    assert re.search("transport +graph", text) and "% of link" in text
    end = run(*HALO, *words, "staged", "--graph", "on")
    assert end.code == UNAVAILABLE and "use --graph off" in end.err
    monkeypatch.setenv("CUDA_ON_CPU_MEMORY_BYTES", "20000000")  # too few for large copies
    report = halo_json(*words, "peer")
    assert report["cases"][0]["share_of_link"] is None
    assert any("between the GPUs is not known" in note for note in report["notes"])


def test_smoke_messages_between_pairs(tmp_path):
    end = run(*P2P, "--ranks", "3", "--pairs", "2-0,0-1,1-2", "--memory", "host", "--sizes", "64Ki,8",
              "--window", "4", "--trace", "t.json", "--json", "r.json", cwd=tmp_path)
    assert end.code == 0 and end.err == ""
    report = json.loads((tmp_path / "r.json").read_text())
    check_bench_p2p(report)
    assert report["window"] == 4
    pairs = ([0, 2], [0, 1], [1, 2])
    assert [(case["ranks"], case["transport"], case["bytes"]) for case in report["cases"]] == [
        (pair, transport, size) for pair in pairs for transport in ("shared", "mpi")
        for size in (8, 65536)]
    assert re.search(r"^    mpi +64 KiB +3( +\S+){5}$", end.out, re.MULTILINE)
    assert "shared, host memory: above us of 8 B, below GB/s of 64 KiB one way" in end.out
    assert max(map(len, end.out.splitlines())) <= 100

    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    bars = [event for event in events if event["ph"] == "X"]
    assert {(bar["pid"], bar["name"]) for bar in bars} == {
        (rank, f"{words} rank {peer}")
        for first, second in pairs for rank, peer in ((first, second), (second, first))
        for words in ("round trips with", "both ways with",
                      "send to" if rank == first else "receive from")}
    assert {(bar["cat"], bar["args"]["bytes"], bar["args"]["messages"]) for bar in bars} == {
        (transport, size, messages) for transport in ("mpi", "shared")
        for size, messages in ((8, 20), (65536, 2), (8, 4), (65536, 4), (8, 8), (65536, 8))}
    for rank in range(3):
        times = [(bar["ts"], bar["ts"] + bar["dur"]) for bar in bars if bar["pid"] == rank]
        assert times == sorted(times) and all(
            before[1] <= after[0] + 0.01 for before, after in zip(times, times[1:]))


def test_smoke_messages_between_gpus(monkeypatch):
    skip_without_emulation()
    monkeypatch.setenv("CUDA_ON_CPU_ORDER", "eager")
    report = p2p_json("--ranks", "2", "--memory", "device,pinned", "--sizes", "8", "--window", "2")
    assert [(case["memory"], case["transport"]) for case in report["cases"]] == [
        ("device", "peer"), ("device", "staged"), ("pinned", "peer"), ("pinned", "mpi")]
    assert any("gpu_aware is not timed with device memory" in note for note in report["notes"])
    end = run(*P2P, "--ranks", "2", "--transport", "shared")
    assert end.code == UNAVAILABLE and "nothing can be timed" in end.err


def test_smoke_gpus_by_every_transport_that_can(monkeypatch, tmp_path):
    skip_without_emulation()
    monkeypatch.setenv("CUDA_ON_CPU_DEVICE_MEMORY", "host-readable")
    assert gpu_name()
    report = halo_json("--ranks", "2", "--cells-per-rank", "16x16,6x6x6",
                        "--memory", "device,managed,host", "--proofs", tmp_path / "proofs.json")
    assert {device["kind"] for device in report["devices"]} == {"gpu"}
    found = {(case["memory"], case["transport"]) for case in report["cases"]}
    assert found == {("device", "peer"), ("device", "gpu_aware"), ("device", "staged"),
                     ("managed", "peer"), ("managed", "gpu_aware"), ("managed", "staged"),
                     ("managed", "mpi"), ("host", "shared"), ("host", "mpi")}
    for case in report["cases"]:
        assert (case["share_of_memcpy"] is not None) == (case["memory"] == "host")


def test_smoke_an_unproved_transport_is_left_out():
    skip_without_emulation()
    report = halo_json("--ranks", "2", "--cells-per-rank", "16x16")
    assert transports_of(report) == ["peer", "staged"]
    assert any("gpu_aware is not timed with device memory" in note for note in report["notes"])
    end = run(*HALO, "--ranks", "2", "--cells-per-rank", "16x16", "--transport", "gpu_aware")
    assert end.code == UNAVAILABLE and "gpu_aware fails here" in end.err


def test_an_mpi_that_corrupts_a_byte(preload):
    end = run(*P2P, "--ranks", "2", "--memory", "host", "--transport", "mpi", "--sizes", "8,4096",
              env=preload(mpi_that_corrupts(4096)))
    assert end.code == 1
    wrong = r"byte 100 of 4096 from rank \d to rank \d did not arrive as sent"
    assert len(re.findall(f"halocline: wrong result: .*4 KiB.*: {wrong}", end.err)) == 1
    assert len(re.findall(f"4 KiB.*: WRONG: {wrong}", " ".join(end.out.split()))) == 1
