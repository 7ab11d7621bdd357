# SPDX-License-Identifier: Apache-2.0
"""`halocline bench layout`, from outside."""

import json
import mmap
import re

import pytest

from command import run, skip_without_emulation
from schema import check_bench_layout

USAGE, UNAVAILABLE = 2, 3
LAYOUT = ["bench", "layout", "--cells-per-rank", "16x8x8", "--sweeps", "8", "--repetitions", "2"]
CPU = ["--backend", "cpu", "--ranks", "2"]
HAS_PAGES_OF_BRICKS = mmap.PAGESIZE == 4096  # 8x8x8 cells in fp64


def layout_json(*words, **options):
    end = run(*LAYOUT, *words, "--json", "-", **options)
    assert end.code == 0, f"{words}: exit code {end.code}\n{end.out}{end.err}"
    report = json.loads(end.out)
    check_bench_layout(report)
    return report


def keys_of(report):
    return [(case["way"], case["layout"], case["steps"]) for case in report["cases"]]


def test_smoke_table_and_json_tell_the_same(tmp_path):
    end = run(*LAYOUT, *CPU, "--json", "r.json", cwd=tmp_path)
    assert (end.code, end.err) == (0, "")
    report = json.loads((tmp_path / "r.json").read_text())
    check_bench_layout(report)
    assert end.out.startswith("layouts and halos: star7, 16x8x8 cells per rank, f64, 8 sweeps")
    assert keys_of(report) == [
        ("derived_types", "array", 1), ("derived_types", "array", 8),
        *[("mapped_views", "brick", steps) for steps in (1, 8) if HAS_PAGES_OF_BRICKS]] + [
        (way, layout, steps) for way in ("shared", "mpi") for layout in ("array", "brick")
        for steps in (1, 8)]
    # A rank owns 16x8x8 cells in bricks of 8x8x8, and has one neighbour along z.
    assert {tuple(case["brick"]) for case in report["cases"]} == {(), (8, 8, 8)}
    assert {case["needed_bytes"] for case in report["cases"] if case["steps"] == 1} == {
        2 * 16 * 8 * 8}
    if HAS_PAGES_OF_BRICKS:
        views = [case for case in report["cases"] if case["way"] == "mapped_views"]
        assert views[0]["bytes"] == 2 * 16 * 8 * 8 * 8, "whole bricks"
        # Up and down go two bricks that lie together.
        assert views[0]["mapped_pieces"] == 2
        assert ("  mapped_views, brick, 1 step: 2 KiB of 16 KiB are halo, mapped from 2 pieces\n"
                in end.out)
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


def test_smoke_what_is_left_out_has_a_reason():
    report = layout_json(*CPU)
    for words in ("derived_types is left out with layout brick: ",
                  "ways for GPUs are left out, since the backend is cpu: "):
        assert any(words in note for note in report["notes"]), report["notes"]


@pytest.mark.skipif(not HAS_PAGES_OF_BRICKS, reason="pages are larger here")
@pytest.mark.parametrize("words, says", [
    ("--layouts array", "with layout array: rows of different neighbours share pages"),
    ("--layouts brick --precision f32", "a brick has 2048 bytes, a page 4096; use larger bricks"),
    ("--layouts brick:32x4x4", "16 cells of rank 0 along x are not whole bricks of 32"),
    ("--layouts brick:16x16x2", "8 cells of rank 0 along y are not whole bricks of 16")])
def test_views_need_pages_of_whole_bricks(words, says):
    end = run(*LAYOUT, *CPU, "--ways", "mapped_views", "--steps", "1", *words.split())
    assert end.code == UNAVAILABLE and says in end.err, end.err
    report = layout_json(*CPU, "--ways", "mpi,mapped_views", "--steps", "1", *words.split())
    assert [case["way"] for case in report["cases"]] == ["mpi"]
    assert any(says in note for note in report["notes"]), report["notes"]


def test_every_combination_is_a_case():
    report = layout_json("--backend", "cpu", "--ranks", "4", "--layouts", "brick:4x2x2,array",
                         "--ways", "mpi", "--steps", "1,2", "--precision", "f32")
    assert keys_of(report) == [("mpi", layout, steps) for layout in ("brick:4x2x2", "array")
                               for steps in (1, 2)]
    assert report["process_grid"] == [1, 2, 2] and report["cells"] == [16, 16, 16]
    assert layout_json(*CPU, "--ways", "mpi", "--process-grid", "2x1x1")["cells"] == [32, 8, 8]


def test_other_problems():
    end = run("bench", "layout", "--problem", "laplace", *CPU, "--ways", "mpi", "--sweeps", "8",
              "--cells-per-rank", "16x8", "--quiet", "--json", "-")
    report = json.loads(end.out)
    check_bench_layout(report)
    assert report["problem"] == "laplace" and report["cells_per_rank"] == [16, 8]


def test_smoke_a_wrong_result_is_named(preload):
    """An MPI whose subarrays begin elsewhere."""
    end = run(*LAYOUT, *CPU, "--steps", "1", env=preload("""
int PMPI_Type_create_subarray(int, const int *, const int *, const int *, int, long, void *);
int MPI_Type_create_subarray(int axes, const int *sizes, const int *box, const int *starts,
                             int order, long type, void *made) {
  int others[4];
  for (int i = 0; i < axes; ++i) others[i] = 0 * starts[i];
  return PMPI_Type_create_subarray(axes, sizes, box, others, order, type, made);
}"""))
    assert end.code == 1
    assert re.search(r"^halocline: wrong result: derived_types with layout array and 1 sweep per "
                     r"exchange: checksum [0-9a-f]{16} instead of [0-9a-f]{16}: cell \(", end.err)
    assert re.search(r"note: derived_types with layout array .* WRONG: ", end.out)
    assert not re.search("^    derived_types", end.out, re.MULTILINE)
    assert re.search(r"^    shared +array ", end.out, re.MULTILINE), "the others are timed"


@pytest.mark.parametrize("words, code, says", [
    ("--ranks 1", USAGE, "--ranks 2"), ("--steps 3", USAGE, "use --sweeps 9"),
    ("--ways pigeons", USAGE, "choose from: shared, "), ("--layouts heap", USAGE, "brick:32x4x4"),
    ("--backend reference", USAGE, "auto, cpu or cuda"),
    ("--backend cpu --ways pinned,staged", UNAVAILABLE, "nothing can be timed: way ")])
def test_what_cannot_be(words, code, says):
    end = run(*LAYOUT, *words.split())
    assert end.code == code and says in end.err, end.err


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
