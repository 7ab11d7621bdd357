# SPDX-License-Identifier: Apache-2.0
"""`halocline bench layout`, from outside."""

import functools
import json
import re

import pytest

from command import WRONG_SUBARRAYS, bench_json, run, skip_without_emulation
from schema import check_bench_layout

LAYOUT = ["bench", "layout", "--cells-per-rank", "16x8x8", "--sweeps", "8", "--repetitions", "2"]
CPU = ["--backend", "cpu", "--ranks", "2"]
layout_json = functools.partial(bench_json, check_bench_layout, *LAYOUT[1:])


def keys_of(report):
    return [(case["way"], case["layout"], case["steps"]) for case in report["cases"]]


def test_smoke_table_and_json_tell_the_same(tmp_path):
    end = run(*LAYOUT, *CPU, "--json", "r.json", cwd=tmp_path)
    assert (end.code, end.err) == (0, "")
    report = json.loads((tmp_path / "r.json").read_text())
    check_bench_layout(report)
    assert end.out.startswith("layouts and halos: star7, 16x8x8 cells per rank, f64, 8 sweeps")
    assert keys_of(report) == [
        ("derived_types", "array", 1), ("derived_types", "array", 8)] + [
        (way, layout, steps) for way in ("shared", "mpi") for layout in ("array", "brick")
        for steps in (1, 8)]
    # A rank owns 16x8x8 cells in bricks of 8x8x8, and has one neighbour along z.
    assert {tuple(case["brick"]) for case in report["cases"]} == {(), (8, 8, 8)}
    assert {case["needed_bytes"] for case in report["cases"] if case["steps"] == 1} == {
        2 * 16 * 8 * 8}
    assert re.search(rf"^  checksum +{report['checksum']} of every result", end.out, re.MULTILINE)
    for case in report["cases"]:
        row = re.search(rf"^    {case['way']} +{case['layout']} +{case['steps']} +\S+ +(\S+) +\S+ "
                        r"+(\S+) +(\S+) +(\S+)", end.out, re.MULTILINE)
        told = [case["median_us"], case["glups"], case["glups_per_rank"],
                100 * case["redundant_updates"]]
        assert [float(word) for word in row.groups()] == pytest.approx(told, rel=1e-2)
    assert len(re.findall(r"^ +calc +\S+ +\S+ +\S+ +\S+$|^ .* calc +\S+ +\S+ +\S+ +\S+$", end.out,
                          re.MULTILINE)) == len(report["cases"])
    assert max(map(len, end.out.splitlines())) <= 100
    for words in ("derived_types is left out with layout brick: ",
                  "ways for GPUs are left out, since the backend is cpu: "):
        assert any(words in note for note in report["notes"]), report["notes"]


def test_every_option_changes_the_cases():
    end = run("bench", "layout", "--problem", "laplace", "--backend", "cpu", "--ranks", "2", "--layouts",
              "brick:4x2,array", "--ways", "mpi", "--steps", "1,2", "--precision", "f32", "--sweeps", "8",
              "--cells-per-rank", "16x8", "--process-grid", "2x1", "--quiet", "--json", "-")
    report = json.loads(end.out)
    check_bench_layout(report)
    assert keys_of(report) == [("mpi", layout, steps) for layout in ("brick:4x2", "array")
                               for steps in (1, 2)]
    assert (report["problem"], report["precision"]) == ("laplace", "f32")
    assert (report["process_grid"], report["cells"]) == ([2, 1], [32, 8])


def test_smoke_a_wrong_result_is_named(preload):
    """An MPI whose subarrays begin elsewhere."""
    end = run(*LAYOUT, *CPU, "--steps", "1", env=preload(WRONG_SUBARRAYS))
    assert end.code == 1
    assert re.search(r"^halocline: wrong result: derived_types with layout array and 1 sweep per "
                     r"exchange: checksum [0-9a-f]{16} instead of [0-9a-f]{16}: cell \(", end.err)
    assert re.search(r"note: derived_types with layout array .* WRONG: ", end.out)
    assert not re.search("^    derived_types", end.out, re.MULTILINE)
    assert re.search(r"^    shared +array ", end.out, re.MULTILINE), "the others are timed"


def test_smoke_gpus_move_halos_by_every_way(tmp_path):
    skip_without_emulation()
    report = layout_json("--ranks", "2", "--proofs", str(tmp_path / "proofs.json"))
    ways = {case["way"] for case in report["cases"]}
    assert ways >= {"whole_array", "skin_copies", "pinned", "managed", "prefetched", "peer",
                    "nccl", "staged"}
    assert len(report["cases"]) == 4 * len(ways)
    moves = {case["way"]: case["move_us"]["max"] for case in report["cases"]}
    assert moves["whole_array"] > 0 and moves["skin_copies"] > 0 and moves["prefetched"] > 0
    assert any("gpu_aware is not timed" in note for note in report["notes"])


def test_smoke_an_mpi_that_takes_gpu_memory(tmp_path):
    skip_without_emulation()
    report = layout_json("--ranks", "2", "--ways", "gpu_aware", "--proofs",
                         str(tmp_path / "proofs.json"),
                         env={"CUDA_ON_CPU_DEVICE_MEMORY": "host-readable"})
    assert len(report["cases"]) == 4 and {case["memory"] for case in report["cases"]} == {"device"}
