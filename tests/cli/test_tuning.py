# SPDX-License-Identifier: Apache-2.0
"""Choosing how a case is run: options, report, and the file that keeps it."""

import json
import re

import pytest

from command import run, solve, solve_json
from schema import check_report

SMALL = ["laplace", "--cells", "96x80", "--sweeps", "30", "--tolerance", "0", "--ranks", "2",
         "--backend", "cpu"]


# Seconds, not spent: a busy machine may take its time for each way.
PLENTY = "60"


def test_choice_is_reported_with_what_lost():
    report = solve_json(*SMALL, "--tune-budget", PLENTY)
    check_report(report)
    choice = report["choice"]
    assert choice["by"] == "measurement" and choice["seconds"] > 0
    taken, = [way for way in choice["ways"] if way["taken"]]
    assert (taken["schedule"], taken["process_grid"]) == (report["schedule"], report["process_grid"])
    assert len(choice["ways"]) >= 2
    by_rule = solve_json(*SMALL, "--tune-budget", "0")
    assert by_rule["choice"] == {"by": "rule", "seconds": 0, "ways": [], "transports": []}
    assert by_rule["checksum"] == report["checksum"]


def test_text_tells_the_choice_and_the_slower_ones():
    text = solve(*SMALL, "--tune-budget", PLENTY)
    assert re.search(r"^  chosen +by measurement in [\d.]+ \w+: [\d.]+ \w+ per sweep$", text, re.M)
    assert re.search(r"^  slower +\dx\d (sequential|overlap) [\d.]+ \w+", text, re.M)
    assert "chosen" not in solve(*SMALL, "--tune-budget", "0")


@pytest.mark.parametrize("join", [True, False])
def test_a_file_keeps_it(join, tmp_path):
    """In one word or two: as two, Open MPI's mpirun would read the file as settings of its own."""
    file = tmp_path / "tuning.json"
    option = [f"--tune={file}"] if join else ["--tune", file]
    first = solve_json(*SMALL, *option, "--tune-budget", PLENTY)
    assert first["choice"]["by"] == "measurement"
    kept = json.loads(file.read_text())
    assert kept["format"] == "halocline tuning" and len(kept["ways"]) == 1
    way, = kept["ways"]
    assert way["schedule"] == first["schedule"] and way["process_grid"] == first["process_grid"]
    assert "laplace of 96x80 cells in f64" in way["ingredients"]

    end = run("solve", *SMALL, *option)
    assert (end.code, end.err) == (0, "")
    assert re.search(r"chosen +from the tuning file, measured \d{4}-\d\d-\d\dT[\d:]+Z: ", end.out)
    assert json.loads(file.read_text()) == kept


def test_what_is_given_is_not_chosen():
    report = solve_json(*SMALL, "--tune-budget", PLENTY, "--process-grid", "2x1")
    assert {tuple(way["process_grid"]) for way in report["choice"]["ways"]} == {(2, 1)}
    report = solve_json(*SMALL, "--tune-budget", PLENTY, "--schedule", "overlap")
    assert {way["schedule"] for way in report["choice"]["ways"]} <= {"overlap"}


def test_a_file_that_cannot_be_written(tmp_path):
    report = solve_json(*SMALL, "--tune", tmp_path / "no" / "folder" / "tuning.json",
                        "--tune-budget", PLENTY)
    assert report["choice"]["by"] == "measurement"
    assert any("the measured choice was not stored: " in note for note in report["notes"])


@pytest.mark.parametrize("seconds", ["-1", "nan", "inf"])
def test_bad_budget(seconds):
    end = run("solve", *SMALL, f"--tune-budget={seconds}")
    assert end.code == 2
    assert re.fullmatch(r"halocline: [^\n]+\n", end.err)
    assert ("cannot spend -1 seconds on tuning; use 0 or more" if seconds == "-1"
            else f"--tune-budget '{seconds}'") in end.err
