# SPDX-License-Identifier: Apache-2.0
"""What `halocline solve` writes while it runs: numbered files, pictures on one scale, sums and probes."""

import csv
import json
import math
import re
import time

import numpy as np
import pytest

from command import run, solve_json, started
from schema import check_report

FAILURE = 4

SPECIES = """\
axes = 2
cells = [40, 30]
precision = "f32"
[fields.u]
initial = "select(abs(i - nx/2) < 5 and abs(j - ny/2) < 5, 0.5, 1)"
boundary = "periodic"
[fields.v]
initial = "select(abs(i - nx/2) < 5 and abs(j - ny/2) < 5, 0.25, 0) + 0.01*noise()"
boundary = "periodic"
[update]
u = "u + 0.16*laplace(u) - u*v^2 + 0.035*(1 - u)"
v = "v + 0.08*laplace(v) + u*v^2 - 0.095*v"
[stop]
sweeps = 45
norm = { of = "v", kind = "max" }
"""


def names_in(folder, pattern):
    return sorted(path.name for path in folder.glob(pattern))


def test_smoke_files_are_numbered_sums_are_rounded_once_and_probes_are_the_cells(tmp_path):
    (tmp_path / "s.toml").write_text(SPECIES)
    end = run("solve", "s.toml", "--output", "u.npy", "--output", "v=v.v.npy", "--output-every", "20", "--sum", "u",
              "--probe", "7,11", "--ranks", "2", "--json", "r.json", cwd=tmp_path)
    assert (end.code, end.err) == (0, "")
    numbers = ["000000", "000020", "000040", "000045"]
    assert names_in(tmp_path, "*.npy") == [f"u-{n}.npy" for n in numbers] + [f"v.v-{n}.npy" for n in numbers]
    report = json.loads((tmp_path / "r.json").read_text())
    check_report({**report, "problem": "laplace"})
    series = report["series"]
    assert series["every"] == 20 and series["names"] == ["sum(u)", "u@7,11"]
    assert [row[0] for row in series["rows"]] == [0, 20, 40, 45]
    for sweep, total, value in series["rows"]:
        u = np.load(tmp_path / f"u-{sweep:06}.npy")
        assert total == math.fsum(u.ravel().tolist()) and value == u[11, 7]


def test_a_series_in_a_file_has_time_and_reads_back(tmp_path):
    report = solve_json("heat", "--cells", "8x9x7", "--sweeps", "30", "--probe", "u@1,2,3", "--sum", "u",
                        "--series", "s.csv", "--series-every", "10", cwd=tmp_path)
    rows = list(csv.reader((tmp_path / "s.csv").open()))
    assert rows[0] == ["sweep", "t", "sum(u)", "u@1,2,3"]
    assert [[float(word) for word in row] for row in rows[1:]] == report["series"]["rows"]
    assert [row[0] for row in rows[1:]] == ["0", "10", "20", "30"]
    assert report["series"]["rows"][1][1] == pytest.approx(10 * report["series"]["rows"][-1][1] / 30)


def test_the_text_has_some_rows_of_a_long_series(tmp_path):
    text = run("solve", "laplace", "--cells", "9x9", "--tolerance", "0", "--sweeps", "1001", "--probe", "4,4",
               "--json", "r.json", cwd=tmp_path).out
    rows = json.loads((tmp_path / "r.json").read_text())["series"]["rows"]
    assert len(rows) == 102 and rows[-1][0] == 1001, "a hundredth of the sweeps, and the end"
    shown = [int(n) for n in re.findall(r"^ +(\d+) +[\d.e-]+$", text, flags=re.MULTILINE)]
    assert shown[0] == 0 and shown[-1] == 1001 and 10 < len(shown) < 30
    assert "of 102 rows, one every 10 sweeps" in text


def test_a_file_that_fails_does_not_end_the_run(tmp_path):
    """Its folder is renamed while the run writes there."""
    folder = tmp_path / "there"
    folder.mkdir()
    with started("solve", "laplace", "--cells", "64x64", "--tolerance", "0", "--sweeps", "20000",
                 "--output", "there/u.npy", "--output-every", "20", "--sum", "u", "--json", "r.json",
                 cwd=tmp_path) as job:
        while not (folder / "u-000020.npy").exists():
            assert job.child.poll() is None
            time.sleep(0.001)
        folder.rename(tmp_path / "moved")
        end = job.finish()
    assert end.code == FAILURE and "there/u-" in end.err, end.err
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["sweeps"] == 20_000 and len(report["series"]["rows"]) == 1001
    assert not names_in(tmp_path / "moved", "*-020000*")
    assert names_in(tmp_path, "*u-020000.npy*"), "the result is kept in the working folder"
