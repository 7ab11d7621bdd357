# SPDX-License-Identifier: Apache-2.0
"""halocline plan: what a run would take, against what a run then says of itself."""

import json
import re

import jsonschema
import pytest

from command import run, solve_json
from schema import PLAN


def plan(*words):
    end = run("plan", *words, "--json", "-")
    assert (end.code, end.err) == (0, "")
    report = json.loads(end.out)
    jsonschema.Draft7Validator(PLAN).validate(report)
    return report


def test_smoke_counts_what_solve_then_sends():
    """For one grid; for many: ranks/test_plan.cpp."""
    way = plan("laplace", "--cells", "64x48", "--ranks", "2")["process_grids"][1]
    report = solve_json("laplace", "--cells", "64x48", "--ranks", "2", "--sweeps", "3", "--backend", "cpu",
                        "--transport", "mpi", "--process-grid", "x".join(map(str, way["process_grid"])))
    assert report["halo"]["messages"] == way["messages"]
    assert report["halo"]["bytes"] == way["bytes"]


def test_text_has_ways_and_refusals():
    end = run("plan", "laplace", "--cells", "100x3", "--ranks", "8", "--halo-depth", "2")
    assert (end.code, end.err) == (0, "")
    assert end.out.startswith("laplace 2-D, 100x3 cells, f64, on 8 ranks\n")
    assert re.search(r"^ +8x1 +13x3 +2 ", end.out, re.M)
    assert re.search(r"^  refused\n +process grid +why\n", end.out, re.M)
    assert re.search(r"^ +4x2 +parts of 1 cell along y are thinner than the halo's 2$", end.out,
                     re.M)


def test_times_from_what_bench_has_written(tmp_path):
    step, halo = tmp_path / "step.json", tmp_path / "halo.json"
    assert run("bench", "step", "--cells", "96x96", "--ranks", "1", "--sweeps", "20", "--backend",
               "cpu", "--repetitions", "2", "--quiet", "--json", step).code == 0
    assert run("bench", "halo", "--ranks", "2", "--cells-per-rank", "32x32,128x128", "--memory",
               "host", "--seconds", "0.05", "--quiet", "--json", halo).code == 0
    report = plan("laplace", "--cells", "128x96", "--ranks", "2", "--figures", step, "--figures",
                  halo)
    assert re.match(r"cpu on .*, host memory", report["figures"])
    for way in report["process_grids"]:
        assert way["us_per_sweep"] == pytest.approx(
            way["sweep_us"] + way["exchange_us"] + way["norm_us"])
        assert way["sweep_us"] > 0 and way["exchange_us"] > 0
    times = [way["us_per_sweep"] for way in report["process_grids"]]
    assert times == sorted(times)
    assert all("ranks" in way["unlike"] for way in report["process_grids"])
    assert any("bench step" in note and "--ranks 2" in note for note in report["notes"])


def test_figures_of_the_same_run_are_its_times(tmp_path):
    step = tmp_path / "step.json"
    assert run("bench", "step", "--cells", "128x96", "--ranks", "2", "--process-grid", "1x2",
               "--sweeps", "20", "--backend", "cpu", "--repetitions", "3", "--quiet", "--json",
               step).code == 0
    report = plan("laplace", "--cells", "128x96", "--ranks", "2", "--figures", step)
    measured = json.loads(step.read_text())["cases"][0]["median_us"]
    like, other = sorted(report["process_grids"], key=lambda way: len(way["unlike"]))
    assert (like["process_grid"], like["unlike"]) == ([1, 2], [])
    assert like["us_per_sweep"] == pytest.approx(measured)
    assert (other["process_grid"], other["unlike"]) == ([2, 1], ["split"])
    assert any("--process-grid 2x1" in note for note in report["notes"])
