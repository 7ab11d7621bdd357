# SPDX-License-Identifier: Apache-2.0
"""What `halocline solve` writes while it runs: numbered files, pictures on one scale, sums and probes."""

import contextlib
import csv
import json
import math
import os
import pty
import re
import struct
import time

import numpy as np
import pytest

from command import run, started
from schema import check_report

USAGE = 2
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


@pytest.fixture
def species(tmp_path):
    (tmp_path / "s.toml").write_text(SPECIES)
    return tmp_path


def names_in(folder, pattern):
    return sorted(path.name for path in folder.glob(pattern))


def solve(*words, cwd, code=0):
    cwd.mkdir(exist_ok=True)
    end = run("solve", *words, "--json", "report.json", cwd=cwd)
    assert end.code == code, end.err
    return json.loads((cwd / "report.json").read_text())


def size_of_png(path):
    return struct.unpack(">II", path.read_bytes()[16:24])


def test_smoke_files_are_numbered_and_each_is_that_of_a_shorter_run(species):
    report = solve("s.toml", "--output", "u.npy", "--output", "v=v.v.npy", "--output-every", "20",
                   cwd=species)
    numbers = ["000000", "000020", "000040", "000045"]
    assert names_in(species, "*.npy") == [f"u-{n}.npy" for n in numbers] + [f"v.v-{n}.npy" for n in numbers]
    plain = solve("s.toml", cwd=species)
    for key in ("fields", "norm_history", "sweeps"):
        assert report[key] == plain[key]
    for number in numbers:
        solve("../s.toml", "--sweeps", int(number), "--output", "u.npy", "--output", "v=v.npy",
              cwd=species / "short")
        assert (species / f"u-{number}.npy").read_bytes() == (species / "short/u.npy").read_bytes()
        assert (species / f"v.v-{number}.npy").read_bytes() == (species / "short/v.npy").read_bytes()


@pytest.mark.parametrize("way", [
    ["--ranks", "2"], ["--ranks", "4", "--process-grid", "4x1"], ["--ranks", "4", "--process-grid", "2x2"],
    ["--ranks", "2", "--halo-depth", "3"], ["--ranks", "2", "--schedule", "overlap"], ["--backend", "reference"],
])
def test_files_sums_and_probes_have_the_same_bits_for_every_split(way, species):
    words = ["--output", "u.npy", "--output", "v=v.png", "--output-every", "20", "--sum", "u", "--sum", "v",
             "--probe", "39,29", "--probe", "v@0,17", "--series-every", "7", "--series", "s.csv"]
    alone = solve("s.toml", *words, cwd=species)
    other = solve("../s.toml", *words, *way, cwd=species / "other")
    assert other["series"] == alone["series"]
    for name in [*names_in(species, "u-*.npy"), *names_in(species, "v-*.png"), "s.csv"]:
        assert (species / name).read_bytes() == (species / "other" / name).read_bytes(), name


def test_a_run_that_stops_earlier_ends_its_files_there(tmp_path):
    words = ["laplace", "--cells", "96x96", "--tolerance", "0.06", "--output", "u.npy", "--output-every"]
    sweeps = solve(*words[:5], cwd=tmp_path)["sweeps"]
    assert 20 < sweeps < 500
    for ranks in ("1", "2"):
        for every in (sweeps - 1, sweeps, sweeps + 1, 10 ** 6):
            folder = tmp_path / f"{ranks}-{every}"
            report = solve(*words, every, "--ranks", ranks, "--sum", "u", cwd=folder)
            expected = {0, sweeps} | ({every} if every < sweeps else set())
            assert names_in(folder, "*.npy") == [f"u-{n:06}.npy" for n in sorted(expected)]
            assert [row[0] for row in report["series"]["rows"]] == sorted(expected)


def test_sums_are_rounded_once_and_probes_are_the_cells(species):
    report = solve("s.toml", "--output", "u.npy", "--output-every", "15", "--sum", "u", "--probe", "7,11",
                   "--ranks", "2", cwd=species)
    check_report({**report, "problem": "laplace"})
    series = report["series"]
    assert series["every"] == 15 and series["names"] == ["sum(u)", "u@7,11"]
    assert [row[0] for row in series["rows"]] == [0, 15, 30, 45]
    for sweep, total, value in series["rows"]:
        u = np.load(species / f"u-{sweep:06}.npy")
        assert total == math.fsum(u.ravel().tolist()) and value == u[11, 7]


def test_a_series_in_a_file_has_time_and_reads_back(tmp_path):
    report = solve("heat", "--cells", "8x9x7", "--sweeps", "30", "--probe", "u@1,2,3", "--sum", "u",
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
    assert solve("laplace", "--cells", "9x9", "--sweeps", "9", cwd=tmp_path)["series"] is None


def test_pictures_have_one_size_and_a_scale_that_widens_or_is_given(species):
    report = solve("s.toml", "--output", "u.png", "--output", "v=v.png", "--output-every", "15", "--range",
                   "v=0,0.5", "--ranks", "2", cwd=species)
    assert len({size_of_png(path) for path in species.glob("u-*.png")}) == 1
    note, = [note for note in report["notes"] if "colours" in note]
    assert "u.png" in note and re.search(r"--range u=0\.\d+,\d", note)
    given = re.search(r"--range u=(\S+)", note)[1]
    solve("../s.toml", "--output", "u.png", "--output-every", "15", "--range", given, cwd=species / "given")
    last = "u-000045.png"
    assert (species / "given/u-000000.png").read_bytes() != (species / "u-000000.png").read_bytes()
    assert size_of_png(species / "given" / last) == size_of_png(species / last)
    solve("../s.toml", "--output", "u.png", "--sweeps", "45", cwd=species / "alone")
    assert (species / "alone/u.png").read_bytes() != (species / last).read_bytes(), "of all before"


def test_what_is_no_file_is_found_before_the_run(species):
    (species / "u-000020.npy").mkdir()
    end = run("solve", "s.toml", "--output", "u.npy", "--output-every", "20", cwd=species)
    assert end.code == USAGE and "u-000020.npy" in end.err and not names_in(species, "u-000000.npy")


@pytest.mark.parametrize("ranks", ["1", "2"])
def test_a_file_that_fails_does_not_end_the_run(ranks, tmp_path):
    """Its folder is renamed while the run writes there."""
    folder = tmp_path / "there"
    folder.mkdir()
    with started("solve", "laplace", "--cells", "64x64", "--tolerance", "0", "--sweeps", "100000", "--ranks", ranks,
                 "--output", "there/u.npy", "--output-every", "20", "--sum", "u", "--json", "r.json",
                 cwd=tmp_path) as job:
        while not (folder / "u-000020.npy").exists():
            assert job.child.poll() is None
            time.sleep(0.001)
        folder.rename(tmp_path / "moved")
        end = job.finish()
    assert end.code == FAILURE and "there/u-" in end.err, end.err
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["sweeps"] == 100_000 and len(report["series"]["rows"]) == 5001
    assert not names_in(tmp_path / "moved", "*-100000*")
    assert names_in(tmp_path, "*u-100000.npy*"), "the result is kept in the working folder"


def test_a_run_goes_on_from_one_of_its_files(species):
    solve("s.toml", "--output", "u.npy", "--output", "v=v.npy", "--output-every", "20", cwd=species)
    whole = (species / "v-000045.npy").read_bytes()
    solve("s.toml", "--initial", "u-000020.npy", "--initial", "v=v-000020.npy", "--sweeps", "25", "--output",
          "v=rest.npy", "--output-every", "25", "--ranks", "2", cwd=species)
    assert (species / "rest-000025.npy").read_bytes() == whole


def what_a_terminal_gets(*words, cwd):
    """What the command writes to a terminal that is its standard error, and its exit code."""
    ours, its = pty.openpty()
    try:
        with started(*words, cwd=cwd, stderr=its) as job:
            os.close(its)
            out = b""
            with contextlib.suppress(OSError):  # the end of a terminal without writers
                while part := os.read(ours, 4096):
                    out += part
            return out.decode(), job.finish().code
    finally:
        os.close(ours)


@pytest.mark.parametrize("ranks", ["1", "2"])
def test_a_terminal_has_one_line_of_progress_that_goes_away(ranks, tmp_path):
    (tmp_path / "slow.toml").write_text(
        "axes = 1\ncells = 50\n[fields.u]\ninitial = 0\n[update]\nu = 'u + 1'\n[stop]\nsweeps = 100000000\n")
    words = ["solve", "slow.toml", "--norm", "max", "--ranks", ranks]
    once = run(*words, "--sweeps", "100000", "--json", "r.json", cwd=tmp_path)
    seconds = json.loads((tmp_path / "r.json").read_text())["seconds"]["loop"]
    assert once.err == ""
    # The first two seconds have no line. A busy machine may be many times as fast in its next run.
    for wanted in (6, 24, 96):
        text, code = what_a_terminal_gets(*words, "--sweeps", int(100_000 * wanted / seconds), cwd=tmp_path)
        assert code == 0
        if text:
            break
    lines = text.split("\r")
    assert re.match(r"sweep \d+ of \d+, norm 1, [\d.e-]+ GLUP/s, at most \d+ s left\x1b\[K$", lines[1]), text
    assert lines[-1] == "\x1b[K" and "\n" not in text


@pytest.mark.parametrize("words, parts", [
    ("--output u.npy --output-every 0", ["every 0", "--output-every"]),
    ("--output u.npy --output-every -2", ["every -2", "--output-every"]),
    ("--output u.npy --output-every 1.5", ["--output-every", "1.5"]),
    ("--output-every 5", ["--output-every", "--output"]),
    ("--output u --output-every 5", ["'u'", ".npy", ".png"]),
    ("--output u.npy --output v=./u.npy --output-every 5", ["u-000000.npy"]),
    ("--output c.npy --output-every 5", ["c-000010.npy", "coefficient"]),
    ("--output u.npy --output-every 5 --json u-000010.npy", ["--json", "--output", "u-000010.npy"]),
    ("--output no/u.npy --output-every 5", ["no/u-000000.npy"]),
    ("--probe v@40,3", ["(40, 3)", "40x30", "0 to 39"]),
    ("--probe v@3", ["--probe", "2 axes"]),
    ("--probe -1,0", ["(-1, 0)", "0 to 39"]),
    ("--probe v@x,3", ["--probe", "'x'"]),
    ("--probe w@1,3", ["'w'", "u, v"]),
    ("--sum w", ["'w'", "u, v"]),
    ("--series a.csv", ["--series", "--sum", "--probe"]),
    ("--sum u --series a.txt", ["a.txt", ".csv"]),
    ("--sum u --series s.toml", ["s.toml", ".csv"]),
    ("--sum u --series-every 0", ["every 0", "--series-every"]),
    ("--range 0,1 --output u.npy", ["--range", "picture"]),
    ("--range 1,0 --output u.png", ["1 to 0"]),
    ("--range 0 --output u.png", ["--range", "1 number"]),
])
@pytest.mark.parametrize("ranks", ["1", "2"])
def test_refused(words, parts, ranks, species):
    np.save(species / "c-000010.npy", np.ones((30, 40), dtype=np.float32))
    (species / "s.toml").write_text(
        SPECIES.replace("[update]", '[coefficients]\nc = { file = "c-000010.npy" }\n[update]')
        .replace('u = "u +', 'u = "c*u +'))
    there = sorted(path.name for path in species.iterdir())
    end = run("solve", "s.toml", "--ranks", ranks, *words.split(), cwd=species)
    assert end.code == USAGE and end.out == "", end.err
    for part in parts:
        assert part in end.err, end.err
    assert sorted(path.name for path in species.iterdir()) == there
