# SPDX-License-Identifier: Apache-2.0
"""halocline plan: what a run would take, against what a run then says of itself."""

import json
import re

import jsonschema

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
