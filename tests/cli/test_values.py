# SPDX-License-Identifier: Apache-2.0
"""Results, as only the command shows them: documented figures, and exit codes of runs that went wrong. That
every way to compute gives the same bits is in tests/ranks/test_same_bits.cpp."""

import json
import os

import pytest
from pytest import approx

from command import run, solve_json

LAPLACE = {"sweeps": 199, "sum": approx(13630.1557717833, rel=1e-12),
           "checksum": "528098ec285fe4a5", "converged": True}


def parts(report, names):
    return {name: report[name] for name in names}


def test_smoke_laplace_stops_and_verifies(tmp_path):
    end = run("solve", "laplace", "--cells", "256x128", "--ranks", "3", "--verify", "--json",
              "r.json", cwd=tmp_path)
    assert end.code == 0 and end.err == ""
    report = json.loads((tmp_path / "r.json").read_text())
    assert parts(report, LAPLACE) == LAPLACE
    assert report["verified"] is True
    history = report["norm_history"]
    assert [sweep for sweep, _ in history] == list(range(199))
    assert history[-1][1] == approx(0.049954430, abs=5e-10)
    assert history[-2][1] > 0.05
    assert "528098ec285fe4a5" in end.out


@pytest.mark.skipif(os.environ.get("HALOCLINE_TEST_ALL") != "1", reason="takes long: HALOCLINE_TEST_ALL=1")
def test_jacobi_norms_of_the_large_lab_grid():
    report = solve_json("jacobi", "--cells", "510x16382", "--sweeps", "901", "--norm-every", "100",
                        "--ranks", "2", timeout=300)
    history = report["norm_history"]
    assert [sweep for sweep, _ in history] == list(range(0, 901, 100))
    norms = dict(history)
    for sweep, norm in {0: 31.999023, 100: 0.897983, 200: 0.535684, 500: 0.269961,
                        900: 0.173818}.items():
        assert norms[sweep] == approx(norm, abs=1e-6), sweep
