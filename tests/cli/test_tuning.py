# SPDX-License-Identifier: Apache-2.0
"""Choosing how a case is run: options, report, and the file that keeps it."""

import json
import re

from command import run, solve
from schema import check_report

SMALL = ["laplace", "--cells", "96x80", "--sweeps", "30", "--tolerance", "0", "--ranks", "2",
         "--backend", "cpu"]


# Seconds, not spent: a busy machine may take its time for each way.
PLENTY = "60"


def test_choice_is_reported_with_what_lost_and_kept_in_a_file(tmp_path):
    """The file in two words, which Open MPI's mpirun would read as settings of its own, and in one."""
    end = run("solve", *SMALL, "--tune-budget", PLENTY, "--tune", "tuning.json", "--json", "r.json", cwd=tmp_path)
    assert (end.code, end.err) == (0, "")
    report = json.loads((tmp_path / "r.json").read_text())
    check_report(report)
    choice = report["choice"]
    assert choice["by"] == "measurement" and choice["seconds"] > 0
    taken, = [way for way in choice["ways"] if way["taken"]]
    assert (taken["schedule"], taken["process_grid"]) == (report["schedule"], report["process_grid"])
    assert len(choice["ways"]) >= 2
    assert re.search(r"^  chosen +by measurement in [\d.]+ \w+: [\d.]+ \w+ per sweep$", end.out, re.M)
    assert re.search(r"^  slower +\dx\d (sequential|overlap) [\d.]+ \w+", end.out, re.M)

    text = (tmp_path / "tuning.json").read_text()
    kept = json.loads(text)
    assert kept["format"] == "halocline tuning" and len(kept["ways"]) == 1
    way, = kept["ways"]
    assert way["schedule"] == report["schedule"] and way["process_grid"] == report["process_grid"]
    assert "laplace of 96x80 cells in f64" in way["ingredients"]

    end = run("solve", *SMALL, "--tune=tuning.json", cwd=tmp_path)
    assert (end.code, end.err) == (0, "")
    assert re.search(r"chosen +from the tuning file, measured \d{4}-\d\d-\d\dT[\d:]+Z: ", end.out)
    assert (tmp_path / "tuning.json").read_text() == text


def test_a_choice_by_rule_is_told_in_json_alone(tmp_path):
    text = solve(*SMALL, "--tune-budget", "0", "--json", "r.json", cwd=tmp_path)
    assert json.loads((tmp_path / "r.json").read_text())["choice"] == {
        "by": "rule", "seconds": 0, "ways": [], "transports": []}
    assert "chosen" not in text
