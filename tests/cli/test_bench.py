# SPDX-License-Identifier: Apache-2.0
"""`halocline bench`, from outside."""

import json
import re

import pytest

from command import HALOCLINE, gpu_name, mpi_that_corrupts, run, skip_without_emulation
from schema import (check_bench_copy, check_bench_first_use, check_bench_halo, check_bench_p2p,
                    check_bench_step)

USAGE, UNAVAILABLE, FAILURE = 2, 3, 4
HALO = ["bench", "halo", "--repetitions", "5"]
STEP = ["bench", "step", "--repetitions", "2"]
P2P = ["bench", "p2p", "--repetitions", "3"]


def bench_json(*words, **options):
    end = run(*HALO, *words, "--json", "-", **options)
    assert end.code == 0, f"{words}: exit code {end.code}\n{end.out}{end.err}"
    report = json.loads(end.out)
    check_bench_halo(report)
    return report


def step_json(*words, **options):
    end = run(*STEP, *words, "--json", "-", **options)
    assert end.code == 0, f"{words}: exit code {end.code}\n{end.out}{end.err}"
    report = json.loads(end.out)
    check_bench_step(report)
    return report


def transports_of(report):
    return [case["transport"] for case in report["cases"]]


def test_smoke_table_and_json_tell_the_same(tmp_path):
    end = run(*HALO, "--ranks", "2", "--memory", "host", "--cells-per-rank", "24x20,8x6x4",
              "--json", "r.json", cwd=tmp_path)
    assert end.code == 0 and end.err == ""
    report = json.loads((tmp_path / "r.json").read_text())
    check_bench_halo(report)
    assert end.out.startswith("halo exchange, f64, faces only\n")
    assert transports_of(report) == ["shared", "mpi"] * 2
    assert [case["bytes"] for case in report["cases"]] == [24 * 8] * 2 + [8 * 6 * 8] * 2
    for case in report["cases"]:
        assert case["repetitions"] == 5
        assert case["share_of_memcpy"] is not None
        cells = "x".join(map(str, case["cells_per_rank"]))
        median = re.search(rf"^    {cells} +{case['transport']} +1 +{case['bytes']} B +\S+ +(\S+)",
                           end.out, re.MULTILINE).group(1)
        assert float(median) == pytest.approx(case["median_us"], rel=1e-2)
    assert "% of memcpy" in end.out and re.search("^  phases: us ", end.out, re.MULTILINE)
    assert max(map(len, end.out.splitlines())) <= 100


def test_every_combination_is_a_case():
    report = bench_json("--ranks", "3", "--memory", "host", "--cells-per-rank", "9x8,5x5x5",
                        "--width", "1,2", "--fields", "1,3", "--transport", "mpi", "--corners",
                        "--precision", "f32", "--periodic", "xy")
    keys = [(tuple(case["cells_per_rank"]), case["width"], case["fields"])
            for case in report["cases"]]
    assert keys == [(cells, width, fields) for cells in [(9, 8), (5, 5, 5)] for width in (1, 2)
                    for fields in (1, 3)]
    assert report["neighbours"] == "all" and report["periodic"] == [True, True, False]
    assert report["cases"][0]["bytes"] == 2 * (9 + 2) * 4
    assert set(transports_of(report)) == {"mpi"}


def test_columns_are_what_differs():
    words = ["--ranks", "2", "--memory", "host", "--transport", "mpi", "--cells-per-rank", "8x8"]
    same = run(*HALO, *words).out
    assert re.search("^  halo width +1$", same, re.MULTILINE)
    assert not re.search("^    cells/rank .*width", same, re.MULTILINE)
    assert re.search("^    cells/rank +width", run(*HALO, *words, "--width", "1,2").out,
                     re.MULTILINE)


def test_one_rank_wraps_around():
    report = bench_json("--ranks", "1", "--memory", "host", "--periodic", "xy",
                        "--cells-per-rank", "16x16")
    assert transports_of(report) == ["self"]


@pytest.mark.parametrize("words, ranks", [
    ("p2p --sizes 8 --repetitions 2", 2), ("halo --cells-per-rank 8x8 --repetitions 2", 2),
    ("first-use --sizes 8", 2), ("mesh --sizes 8 --repetitions 2", 4)])
def test_neighbours_are_started_where_nothing_says_how_many(words, ranks, mpirun):
    words = ["bench", *words.split(), "--json", "-"]
    assert json.loads(run(*words).out)["ranks"] == ranks
    assert json.loads(run(*words, **mpirun(ranks=3)).out)["ranks"] == 3, "the launcher's"


def test_smoke_rivals_stand_beside_transports(tmp_path):
    end = run(*HALO, "--ranks", "2", "--memory", "host", "--cells-per-rank", "24x20,8x6x4",
              "--fields", "1,2", "--json", "r.json", cwd=tmp_path)
    assert end.code == 0 and end.err == "", end.err
    report = json.loads((tmp_path / "r.json").read_text())
    check_bench_halo(report)
    rivals = {(*rival["cells_per_rank"], rival["fields"]): rival for rival in report["rivals"]}
    assert len(rivals) == 4
    for case in report["cases"]:
        rival = rivals[(*case["cells_per_rank"], case["fields"])]
        assert rival["bytes"] == case["bytes"] and rival["repetitions"] == 5
        assert rival["messages"] == case["fields"]
        assert case["derived_types_us"] == rival["median_us"]
        assert case["derived_types_ratio"] == pytest.approx(rival["median_us"] / case["median_us"])
    rows = re.findall(r"^    (\S+) +([12]) +(\w+|MPI types)  .* (\S+)$", end.out, re.MULTILINE)
    assert [row[:3] for row in rows if row[3] != "rows"][:6] == [
        ("24x20", fields, way) for fields in "12" for way in ("shared", "mpi", "MPI types")]
    assert "vs MPI types" in end.out


def test_rivals_as_asked():
    words = ["--ranks", "2", "--memory", "host", "--cells-per-rank", "8x8", "--transport", "mpi"]
    assert len(bench_json(*words, "--rivals", "derived_types")["rivals"]) == 1
    assert bench_json(*words, "--rivals", "none")["rivals"] == []
    assert "MPI types" not in run(*HALO, *words, "--rivals", "none").out


def test_a_rival_that_moves_wrong_bytes(preload):
    """An MPI whose subarrays begin elsewhere."""
    end = run(*HALO, "--ranks", "2", "--memory", "host", "--cells-per-rank", "8x8",
              env=preload("""
int PMPI_Type_create_subarray(int, const int *, const int *, const int *, int, long, void *);
int MPI_Type_create_subarray(int axes, const int *sizes, const int *box, const int *starts,
                             int order, long type, void *made) {
  int others[4];
  for (int i = 0; i < axes; ++i) others[i] = 0 * starts[i];
  return PMPI_Type_create_subarray(axes, sizes, box, others, order, type, made);
}"""))
    assert end.code == 1
    assert re.search(r"halocline: wrong result: .*8x8.* by MPI types: rank \d, field 0", end.err)
    assert re.search(r"^    8x8 +shared ", end.out, re.MULTILINE), "the others are timed"


def test_smoke_a_rival_without_a_proof_says_so():
    skip_without_emulation()
    words = ["--ranks", "2", "--memory", "device,pinned", "--cells-per-rank", "8x8",
             "--transport", "peer"]
    report = bench_json(*words, "--proofs", "/dev/null")
    assert [(rival["memory"], rival["not_run"] is None) for rival in report["rivals"]] == [
        ("device", False), ("pinned", True)]
    assert any("MPI types are not timed with device memory" in note for note in report["notes"])
    assert report["cases"][0]["derived_types_us"] is None


def test_smoke_a_rival_with_a_proof_needs_what_mpi_says(preload, tmp_path):
    """MPI takes the memory of GPUs here, as far as bytes in a row go."""
    skip_without_emulation()
    words = ["--ranks", "2", "--memory", "device", "--cells-per-rank", "8x8", "--proofs",
             str(tmp_path / "proofs.json")]
    takes = {"CUDA_ON_CPU_DEVICE_MEMORY": "host-readable"}
    report = bench_json(*words, env=takes)
    assert "gpu_aware" in transports_of(report)
    assert "MPIX_Query_cuda_support" in report["rivals"][0]["not_run"]
    claims = preload("int MPIX_Query_cuda_support(void) { return 1; }")
    report = bench_json(*words, env={**takes, **claims})
    assert report["rivals"][0]["not_run"] is None and report["rivals"][0]["bytes"] == 64


def test_process_grid():
    report = bench_json("--ranks", "4", "--memory", "host", "--process-grid", "2x2",
                        "--cells-per-rank", "8x6", "--transport", "shared,mpi", "--corners")
    assert [case["messages"] for case in report["cases"]] == [3, 3]
    assert [case["bytes"] for case in report["cases"]] == [(8 + 6 + 1) * 8] * 2


def test_usual_sizes_as_long_as_asked():
    report = bench_json("--ranks", "2", "--memory", "host", "--precision", "f32",
                        "--transport", "shared", timeout=300)
    assert {len(case["cells_per_rank"]) for case in report["cases"]} == {2, 3}


def test_smoke_under_a_launcher(mpirun):
    end = run(*HALO, "--memory", "host", "--cells-per-rank", "8x8", **mpirun(2))
    assert end.code == 0 and end.err == ""
    assert end.out.count("halo exchange") == 1


def test_quiet_is_quiet(tmp_path):
    end = run(*HALO, "--ranks", "2", "--cells-per-rank", "8x8", "--quiet", "--json", "r.json",
              cwd=tmp_path)
    assert end == (0, "", "")
    check_bench_halo(json.loads((tmp_path / "r.json").read_text()))


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


def test_every_combination_is_a_step():
    report = step_json("star7", "--backend", "cpu", "--ranks", "1,4",
                       "--cells-per-rank", "8x8x8", "--process-grid", "auto,1x2x2", "--sweeps", "6",
                       "--precision", "f32,f64", "--norm", "max", "--norm-every", "1,3",
                       "--transport", "mpi,shared",
                       "--schedule", "sequential,overlap")
    keys = [(case["precision"], case["norm_every"], case["ranks"], tuple(case["process_grid"]),
             case["schedule"], case["transport"]) for case in report["cases"]]
    of_ranks = [(1, (1, 1, 1), schedule, "self") for schedule in ("sequential", "overlap")] + [
        (4, grid, schedule, transport) for grid in [(1, 1, 4), (1, 2, 2)]
        for schedule in ("sequential", "overlap") for transport in ("mpi", "shared")]
    assert keys == [(precision, every, *rest) for precision in ("f32", "f64") for every in (1, 3)
                    for rest in of_ranks]


def test_steps_with_and_without_norms(tmp_path):
    end = run(*STEP, "star7", "--backend", "cpu", "--ranks", "1", "--cells", "8x8x8", "--sweeps",
              "4", "--norm", "none,max,l2", "--norm-every", "1,3", "--json",
              "step.json", cwd=tmp_path)
    cases = json.loads((tmp_path / "step.json").read_text())["cases"]
    assert [(case["norm"], case["norm_every"]) for case in cases] == [
        ("none", 1), ("max", 1), ("max", 3), ("l2", 1), ("l2", 3)]
    rows = re.findall(r"^    (none|max every sweep|max every 3 sweeps|l2 every sweep|"
                      r"l2 every 3 sweeps) ", end.out, re.MULTILINE)
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
    assert step_json(*words, "--ranks", "2", **mpirun(3))["ranks"] == [2]
    end = run(*STEP, *words, "--ranks", "4", **mpirun(2))
    assert end.code == USAGE and "4 ranks cannot be timed; use 1 to 2" in end.err


def test_smoke_steps_on_gpus():
    skip_without_emulation()
    report = step_json("--cells", "32x32", "--sweeps", "300", "--transport", "peer,staged",
                       "--graph", "on,off")
    assert report["ranks"] == [1, 2]
    assert [(case["ranks"], case["transport"], case["sweeps_in_graphs"] > 0)
            for case in report["cases"]] == [
        (1, "none", True), (1, "none", False), (2, "peer", True), (2, "peer", False),
        (2, "staged", False)]
    assert any("transport staged needs the host" in note for note in report["notes"])


def test_smoke_graphs_of_exchanges(monkeypatch):
    skip_without_emulation()
    words = ["--ranks", "2", "--cells-per-rank", "16x16", "--transport"]
    report = bench_json(*words, "peer,staged", "--graph", "off,on")
    assert [(case["transport"], case["graph"]) for case in report["cases"]] == [
        ("peer", "off"), ("peer", "on"), ("staged", "off")]
    assert all(case["share_of_link"] is not None for case in report["cases"])
    assert any("by staged" in note and "CUDA graphs" in note for note in report["notes"])
    text = run(*HALO, *words, "peer", "--graph", "off,on").out
    assert re.search("transport +graph", text) and "% of link" in text
    end = run(*HALO, *words, "staged", "--graph", "on")
    assert end.code == UNAVAILABLE and "use --graph off" in end.err
    monkeypatch.setenv("CUDA_ON_CPU_MEMORY_BYTES", "20000000")  # too few for large copies
    report = bench_json(*words, "peer")
    assert report["cases"][0]["share_of_link"] is None
    assert any("between the GPUs is not known" in note for note in report["notes"])


def p2p_json(*words, **options):
    end = run(*P2P, *words, "--json", "-", **options)
    assert end.code == 0, f"{words}: exit code {end.code}\n{end.out}{end.err}"
    report = json.loads(end.out)
    check_bench_p2p(report)
    return report


def test_smoke_p2p_shows_what_was_sent_when(tmp_path):
    p2p_json("--ranks", "3", "--pairs", "0-2,0-1", "--memory", "host", "--transport", "mpi,shared",
             "--sizes", "8,64Ki", "--window", "4", "--trace", "t.json", cwd=tmp_path)
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    bars = [event for event in events if event["ph"] == "X"]
    assert {(bar["pid"], bar["name"]) for bar in bars} == {
        (rank, f"{words} rank {peer}")
        for first, second in ((0, 2), (0, 1)) for rank, peer in ((first, second), (second, first))
        for words in ("round trips with", "both ways with",
                      "send to" if rank == first else "receive from")}
    assert {(bar["cat"], bar["args"]["bytes"], bar["args"]["messages"]) for bar in bars} == {
        (transport, size, messages) for transport in ("mpi", "shared")
        for size, messages in ((8, 20), (65536, 2), (8, 4), (65536, 4), (8, 8), (65536, 8))}
    for rank in range(3):
        times = [(bar["ts"], bar["ts"] + bar["dur"]) for bar in bars if bar["pid"] == rank]
        assert times == sorted(times) and all(
            before[1] <= after[0] + 0.01 for before, after in zip(times, times[1:]))


def test_smoke_messages_between_pairs(tmp_path):
    end = run(*P2P, "--ranks", "3", "--memory", "host", "--sizes", "8,4Ki", "--json", "r.json",
              cwd=tmp_path)
    assert end.code == 0 and end.err == ""
    report = json.loads((tmp_path / "r.json").read_text())
    check_bench_p2p(report)
    assert [(case["ranks"], case["transport"], case["bytes"]) for case in report["cases"]] == [
        (pair, transport, size) for pair in ([0, 1], [0, 2], [1, 2])
        for transport in ("shared", "mpi") for size in (8, 4096)]
    assert re.search(r"^    mpi +4 KiB +3( +\S+){5}$", end.out, re.MULTILINE)
    assert "shared, host memory: above us of 8 B, below GB/s of 4 KiB one way" in end.out
    assert max(map(len, end.out.splitlines())) <= 100


def test_pairs_and_transports_as_asked(mpirun):
    report = p2p_json("--pairs", "3-0,1-2", "--memory", "host", "--transport", "mpi", "--sizes",
                      "64Ki,1", "--window", "3", **mpirun(4))
    assert [(case["ranks"], case["bytes"]) for case in report["cases"]] == [
        ([0, 3], 1), ([0, 3], 65536), ([1, 2], 1), ([1, 2], 65536)]
    assert report["window"] == 3


def test_smoke_messages_between_gpus(monkeypatch):
    skip_without_emulation()
    monkeypatch.setenv("CUDA_ON_CPU_ORDER", "eager")
    report = p2p_json("--ranks", "2", "--memory", "device,pinned", "--sizes", "8", "--window", "2")
    assert [(case["memory"], case["transport"]) for case in report["cases"]] == [
        ("device", "peer"), ("device", "staged"), ("pinned", "peer"), ("pinned", "mpi")]
    assert any("gpu_aware is not timed with device memory" in note for note in report["notes"])
    end = run(*P2P, "--ranks", "2", "--transport", "shared")
    assert end.code == UNAVAILABLE and "nothing can be timed" in end.err


def test_smoke_copies_within_the_host(tmp_path):
    end = run("bench", "copy", "--repetitions", "2", "--sizes", "4Ki", "--json", "r.json",
              cwd=tmp_path)
    assert end.code == 0 and end.err == ""
    report = json.loads((tmp_path / "r.json").read_text())
    check_bench_copy(report)
    found = [(case["from"], case["to"]) for case in report["cases"]]
    assert found[0] == ("host", "host")
    if gpu_name():
        assert found[1:] == [("pinned", "device"), ("device", "pinned"), ("host", "device"),
                             ("device", "host"), ("device", "device")]
    assert max(map(len, end.out.splitlines())) <= 100


def test_smoke_copies_between_gpus():
    skip_without_emulation()
    end = run("bench", "copy", "--ranks", "2", "--repetitions", "2", "--sizes", "1Ki", "--json", "-")
    assert end.code == 0, end.err
    report = json.loads(end.out)
    check_bench_copy(report)
    assert (report["cases"][-1]["from"], report["cases"][-1]["to"]) == ("device", "next device")


def test_smoke_first_exchanges(tmp_path):
    end = run("bench", "first-use", "--ranks", "2", "--memory", "host", "--exchanges", "12",
              "--sizes", "64,4Ki", "--json", "r.json", cwd=tmp_path)
    assert end.code == 0 and end.err == ""
    report = json.loads((tmp_path / "r.json").read_text())
    check_bench_first_use(report)
    assert [(case["transport"], case["bytes"]) for case in report["cases"]] == [
        ("shared", 64), ("shared", 4096), ("mpi", 64), ("mpi", 4096)]
    assert all(len(case["exchanges_us"]) == 12 for case in report["cases"])
    assert max(map(len, end.out.splitlines())) <= 100


def test_smoke_with_and_without_a_setting(tmp_path, mpirun):
    words = ["--ranks", "2", "--memory", "host", "--transport", "mpi", "--ab"]
    end = run(*HALO, "--cells-per-rank", "8x8", *words, "SOME_VARIABLE=1", "--json", "r.json",
              cwd=tmp_path, timeout=300)
    assert end.code == 0 and end.err == "", end.err
    assert end.out.startswith("bench halo, A unchanged, B SOME_VARIABLE=1\n")
    report = json.loads((tmp_path / "r.json").read_text())
    assert (report["of"], report["name"], report["value"]) == ("halo", "SOME_VARIABLE", "1")
    [case] = report["cases"]
    assert case["median_us_ratio"] == pytest.approx(case["median_us_b"] / case["median_us_a"])
    assert [path.name for path in tmp_path.iterdir()] == ["r.json"]
    end = run(*P2P, *words[2:], "SOME_VARIABLE=1", **mpirun(2))
    assert end.code == USAGE and "--ab" in end.err and "give --ranks" in end.err


def test_smoke_what_a_setting_breaks_is_named():
    """Ranks that are told to assume no GPU, and are asked for a GPU's memory."""
    skip_without_emulation()
    end = run(*P2P, "--ranks", "2", "--memory", "device", "--transport", "peer", "--sizes", "8",
              "--window", "2", "--ab", "CUDA_ON_CPU_DEVICES=0", env={"CUDA_ON_CPU_ORDER": "eager"},
              timeout=300)
    assert end.code == UNAVAILABLE and end.out == ""
    assert " B, CUDA_ON_CPU_DEVICES=0\n" in end.err


CASES = [
    ("bench copy --sizes 0", USAGE, "0 bytes", "1 to 16Gi"),
    ("bench copy --ranks 0", USAGE, "0 ranks"),
    ("bench first-use --ranks 1", USAGE, "one rank has no neighbour", "--ranks 2"),
    ("bench first-use --ranks 2 --sizes 12", USAGE, "12 bytes", "multiples of 8"),
    ("bench first-use --ranks 2 --exchanges 3", USAGE, "3 exchanges", "10 to"),
    ("bench first-use --ranks 2 --memory host --transport staged", UNAVAILABLE, "staged"),
    ("bench halo --ranks 2 --ab NOTHING", USAGE, "--ab 'NOTHING'", "NAME=VALUE"),
    ("bench p2p --ranks 2 --ab A=1 --sizes 0", USAGE, "0 bytes"),
    ("bench p2p --ranks 2 --ab A=1 --trace t.json", USAGE, "leave --trace out"),
    ("bench p2p --ranks 2 --trace no/such/file", USAGE, "no/such/file"),
    ("bench p2p --ranks 1", USAGE, "one rank", "--ranks 2"),
    ("bench p2p --ranks 2 --pairs 0-2", USAGE, "rank 2 ", "among 2 ranks", "use 0 to 1"),
    ("bench p2p --ranks 2 --pairs 0", USAGE, "'0' is not a list of pairs", "0-1,0-3"),
    ("bench p2p --ranks 2 --pairs 0-1-2", USAGE, "not a list of pairs"),
    ("bench p2p --ranks 2 --sizes 8,64k", USAGE, "'8,64k' is not a list of sizes", "64Ki"),
    ("bench p2p --ranks 2 --sizes 2Gi", USAGE, "2147483648 bytes", "1 to 1Gi"),
    ("bench p2p --ranks 2 --window 0", USAGE, "0 messages"),
    ("bench p2p --ranks 2 --transport auto", USAGE, "'auto'", "shared"),
    ("bench p2p --ranks 2 --memory lake", USAGE, "'lake'", "device"),
    ("bench p2p --ranks 2 --repetitions 2 --seconds 1", USAGE, "not both"),
    ("bench", USAGE, "halo, step", "--help"),
    ("bench step --ranks 0", USAGE, "0 ranks"),
    ("bench step --ranks 1,b", USAGE, "'1,b'", "whole numbers"),
    ("bench step star7 more", USAGE, "'more'", "bench step --help"),
    ("bench step soup", USAGE, "'soup'", "laplace"),
    ("bench step --problem soup", USAGE, "'soup'", "laplace"),
    ("bench step laplace --problem star7", USAGE, "'laplace'", "'star7'", "once"),
    ("bench step star7 --ranks 2 --norm-every 1,100", USAGE, "no norm", "--norm max"),
    ("bench step --ranks 2 --norm most", USAGE, "'most'", "max, l2, none"),
    ("bench step --ranks 2 --cells 8x8,4y4", USAGE, "'4y4' is not a size"),
    ("bench step --ranks 1,2 --process-grid 3x1", USAGE, "3x1 is for 3 ranks", "1, 2"),
    ("bench step --ranks 2 --sweeps 1", USAGE, "1 sweep ", "2 or more"),
    ("bench step --ranks 2 --repetitions 0", USAGE, "0 repetitions"),
    ("bench step --ranks 2 --transport pigeon", USAGE, "'pigeon'", "shared"),
    ("bench step --ranks 2 --graph perhaps", USAGE, "'perhaps'"),
    ("bench step --ranks 2 --norm-every 0", USAGE, "every 0 sweeps"),
    ("bench step --ranks 2 --halo-depth 1,0", USAGE, "halo depth 0"),
    ("bench step --ranks 2 --backend cpu --transport staged --cells 8x8", UNAVAILABLE, "staged"),
    ("bench step --ranks 2 --backend cpu --graph on --cells 8x8", UNAVAILABLE, "CUDA graphs"),
    ("bench step --ranks 2 --backend cpu --cells 1e9x1e9", FAILURE, "fewer cells"),
    ("bench halo --ranks 2 --graph perhaps", USAGE, "--graph", "'perhaps'", "off or on"),
    ("bench halo --ranks 2 --memory host --graph on --cells-per-rank 8x8", UNAVAILABLE,
     "host memory", "CUDA graph", "--graph off"),
    ("bench halo --ranks 2 --rivals pigeon", USAGE, "'pigeon'", "derived_types"),
    ("bench halo --ranks 2 --transport derived_types", USAGE, "'derived_types'", "shared"),
    ("bench haloes", USAGE, "haloes", "bench --help"),
    ("bench halo --ranks 1", USAGE, "one rank has no neighbour", "--ranks 2", "--periodic"),
    ("bench halo --ranks 0", USAGE, "0 ranks"),
    ("bench halo --ranks 2 more", USAGE, "more", "bench halo --help"),
    ("bench halo --ranks 2 --width 0", USAGE, "width 0", "--width 1 or more"),
    ("bench halo --ranks 2 --width 1,,2", USAGE, "'1,,2' is not a list"),
    ("bench halo --ranks 2 --width 1,a", USAGE, "'1,a'", "whole numbers"),
    ("bench halo --ranks 2 --width 9 --cells-per-rank 8x8", USAGE,
     "width 9 is wider than a rank's 8 cells along y", "--width 8"),
    ("bench halo --ranks 2 --fields 0", USAGE, "0 fields", "1 to 1000"),
    ("bench halo --ranks 2 --cells-per-rank 8x8,4y4", USAGE, "'4y4' is not a size"),
    ("bench halo --ranks 2 --cells-per-rank 8x0", USAGE, "0 cells along y"),
    ("bench halo --ranks 2 --precision f16", USAGE, "f32, f64"),
    ("bench halo --ranks 2 --transport pigeon", USAGE, "'pigeon'", "shared"),
    ("bench halo --ranks 2 --memory lake", USAGE, "'lake'", "device"),
    ("bench halo --ranks 2 --periodic w", USAGE, "'w'", "xy"),
    ("bench halo --ranks 2 --process-grid 3x1", USAGE, "3x1", "2"),
    ("bench halo --ranks 2 --process-grid 1x2 --cells-per-rank 4x4x4", USAGE, "2 axes", "have 3"),
    ("bench halo --ranks 2 --repetitions 0", USAGE, "0 repetitions"),
    ("bench halo --ranks 2 --seconds 0", USAGE, "0 seconds"),
    ("bench halo --ranks 2 --repetitions 2 --seconds 1", USAGE, "not both"),
    ("bench halo --cells-per-rank 8x8 --periodic xz --ranks 2", USAGE, "'xz'", "no axis z"),
    ("bench halo --ranks 2 --wait-limit -1", USAGE, "wait limit -1"),
    ("bench halo --ranks 2 --json no/such/file --cells-per-rank 8x8", USAGE, "no/such/file"),
    ("bench halo --ranks 2 --transport self --memory host --cells-per-rank 8x8", UNAVAILABLE,
     "self cannot serve same-node"),
    ("bench halo --ranks 2 --memory host --cells-per-rank 1e9x1e9", FAILURE, "13.9 EiB",
     "fewer cells"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_bad_input(case, tmp_path):
    words, code, *says = case
    end = run(*words.split(), cwd=tmp_path)
    assert (end.code, end.out) == (code, "")
    lines = end.err.splitlines()
    assert len([line for line in lines if line.startswith("halocline: ")]) == 1
    for text in says:
        assert text in end.err, end.err
    assert list(tmp_path.iterdir()) == []


def test_smoke_gpus_by_every_transport_that_can(monkeypatch, tmp_path):
    skip_without_emulation()
    monkeypatch.setenv("CUDA_ON_CPU_DEVICE_MEMORY", "host-readable")
    assert gpu_name()
    report = bench_json("--ranks", "2", "--cells-per-rank", "16x16,6x6x6",
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
    report = bench_json("--ranks", "2", "--cells-per-rank", "16x16")
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
