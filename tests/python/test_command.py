# SPDX-License-Identifier: Apache-2.0
"""Reports of the command, which one process starts."""

import subprocess
import sys

import halocline as hc
import pytest
from test_launch import as_no_rank  # noqa: F401


def test_a_plan_is_a_dictionary_and_a_text(as_no_rank):  # noqa: F811
    report = hc.plan("laplace", cells=(48, 64), ranks=2, process_grid=(2, 1))
    assert report["cells"] == [64, 48] and report["process_grids"][0]["process_grid"] == [1, 2]
    assert "64x48" in str(report) and report.code == 0 and "<pre>" in report._repr_html_()


def test_benchmarks_take_lists(as_no_rank):  # noqa: F811
    report = hc.bench("p2p", ranks=2, sizes=[8, "1Ki"], transport="mpi", memory="host", seconds=0.001)
    assert report["report"] == "bench p2p" and report.code == 0


def test_mistakes_are_told(as_no_rank):  # noqa: F811
    with pytest.raises(hc.UsageError, match="no problem 'laplacian'"):
        hc.plan("laplacian")
    with pytest.raises(hc.UsageError, match="--swepes"):
        hc.plan("laplace", swepes=3)
    with pytest.raises(hc.UsageError, match="bench"):
        hc.bench("nothing")


def test_ranks_start_no_others(monkeypatch):
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "3")
    with pytest.raises(hc.UsageError, match="is a rank itself"):
        hc.doctor()


def test_there_may_be_no_command(as_no_rank, monkeypatch, tmp_path):  # noqa: F811
    monkeypatch.setenv("HALOCLINE_LIBRARY", str(tmp_path / "lib" / "libhalocline.so.0.1"))
    with pytest.raises(hc.UnavailableError, match="HALOCLINE_COMMAND names another"):
        hc.doctor()


def test_the_module_is_the_command(as_no_rank):  # noqa: F811
    shown = subprocess.run([sys.executable, "-m", "halocline", "problem", "list"], capture_output=True, text=True)
    assert shown.returncode == 0 and "gray_scott" in shown.stdout
    wrong = subprocess.run([sys.executable, "-m", "halocline", "nothing"], capture_output=True, text=True)
    assert wrong.returncode == 2 and "nothing" in wrong.stderr
