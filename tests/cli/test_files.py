# SPDX-License-Identifier: Apache-2.0
"""Files written and read: arrays, pictures, time lines; and what is left when a disk is full."""

import json
import os
import re
import struct
import subprocess
import sys
import zlib

import numpy as np
import pytest

from command import ROOT, run, skip, solve, solve_json

pytest.importorskip("tomllib")  # of Python 3.11, for:
sys.path.insert(0, str(ROOT / "tests/problem_files"))
import reference  # noqa: E402

# Arrays


def by_numpy(name, cells, sweeps, old="-", new="-", **given):
    """What NumPy makes of a built-in problem, with a part of its text replaced."""
    text = (ROOT / f"problems/{name}.toml").read_text().replace(old, new)
    return reference.solve(reference.Problem(text, list(cells), **given), sweeps)[0].cells_of("u").reshape(cells[::-1])


def assert_same(array, other):
    assert (array.shape, array.dtype) == (other.shape, other.dtype)
    np.testing.assert_array_equal(array, other)


def test_smoke_an_array_is_bitwise_that_of_numpy(tmp_path):
    solve("laplace", "--cells", "53x31", "--sweeps", "25", "--ranks", "4", "--process-grid", "2x2",
          "--output", "u.npy", cwd=tmp_path)
    assert_same(np.load(tmp_path / "u.npy"), by_numpy("laplace", (53, 31), 25))


def test_an_array_of_three_axes_is_bitwise_that_of_numpy(tmp_path):
    solve("star7", "--cells", "12x7x9", "--precision", "f32", "--sweeps", "4", "--ranks", "6",
          "--process-grid", "3x1x2", "--output", "u.npy", cwd=tmp_path)
    assert_same(np.load(tmp_path / "u.npy"), by_numpy("star7", (12, 7, 9), 4, precision="f32"))


def test_starts_from_an_array_of_numpy_which_gives_the_cells(tmp_path):
    start = np.random.default_rng(6).normal(size=(5, 6, 7))
    np.save(tmp_path / "u.npy", start)
    report = solve_json("star7", "--sweeps", "3", "--initial", "u.npy", "--ranks", "2", "--verify", cwd=tmp_path)
    assert report["cells"] == [7, 6, 5] and report["verified"] is True
    field = by_numpy("star7", (7, 6, 5), 3, '"noise()"', '{ file = "u.npy" }', folder=tmp_path)
    assert report["checksum"] == reference.checksum(field.ravel())


def test_an_array_that_is_not_finite_ends_the_run(tmp_path):
    start = np.zeros((6, 8))
    start[3, 4] = np.nan
    np.save(tmp_path / "u.npy", start)
    report = solve_json("laplace", "--cells", "8x6", "--initial", "u.npy", code=1, cwd=tmp_path)
    assert report["sum"] is None and any("diverged" in note for note in report["notes"])


def test_a_replaced_file_keeps_mode_and_links(tmp_path):
    old = tmp_path / "old.npy"
    old.write_text("old")
    old.chmod(0o640)
    (tmp_path / "link.npy").symlink_to("old.npy")
    solve("heat", "--ranks", "2", "--output", "link.npy", cwd=tmp_path)
    assert (tmp_path / "link.npy").is_symlink()
    assert old.stat().st_mode & 0o777 == 0o640
    assert np.load(old).shape == (9,)
    assert sorted(os.listdir(tmp_path)) == ["link.npy", "old.npy"]


# Pictures


def size_of_png(content):
    """Width and height, after a check of every chunk and of the number of pixels."""
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    at, kinds, pixels = 8, [], b""
    while at < len(content):
        length, kind = struct.unpack(">I4s", content[at:at + 8])
        data = content[at + 8:at + 8 + length]
        assert zlib.crc32(kind + data) == struct.unpack(">I", content[at + 8 + length:][:4])[0]
        kinds.append(kind)
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", data[:10])
        if kind == b"IDAT":
            pixels += data
        at += 12 + length
    assert kinds[0] == b"IHDR" and kinds[-1] == b"IEND"
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour]
    assert len(zlib.decompress(pixels)) == height * (1 + (width * channels * depth + 7) // 8)
    return width, height


def test_a_picture_is_a_png(tmp_path):
    text = solve("heat", "--cells", "20x16x12", "--ranks", "3", "--output", "u.png", cwd=tmp_path)
    content = (tmp_path / "u.png").read_bytes()
    width, height = size_of_png(content)
    assert 500 <= width <= 1100 and 500 <= height <= 1100
    scale = re.search(r"\n  picture       u\.png: (.*), z = 6\n", text).group(1)
    assert f"viridis: {scale}".encode() in content
    assert os.listdir(tmp_path) == ["u.png"]


# Time lines and profiles


def test_a_trace_has_spans_of_every_rank_and_a_profile_call_sites(tmp_path):
    text = solve("laplace", "--cells", "64x48", "--sweeps", "20", "--tolerance", "0", "--ranks", "3",
                 "--process-grid", "3x1", "--backend", "cpu", "--transport", "mpi", "--trace", "t.json",
                 "--profile", "--json", "r.json", cwd=tmp_path)
    trace = json.loads((tmp_path / "t.json").read_text())
    spans = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert {span["pid"] for span in spans} == {0, 1, 2}
    assert all(span["ts"] >= 0 and span["dur"] >= 0 for span in spans)
    for rank in range(3):
        kinds = {span["cat"] for span in spans if span["pid"] == rank}
        assert {"compute", "pack", "wait", "unpack", "reduce"} <= kinds
        sweeps = [span for span in spans if span["pid"] == rank and span["name"] == "sweep"]
        assert len(sweeps) >= 20
    names = {event["pid"]: event["args"]["name"] for event in trace["traceEvents"]
             if event["ph"] == "M" and event["name"] == "process_name"}
    assert names == {rank: f"rank {rank}" for rank in range(3)}

    rows = json.loads((tmp_path / "r.json").read_text())["profile"]
    sites = {row["site"]: row for row in rows}
    waits = next(row for site, row in sites.items() if "wait (mpi)" in site)
    assert waits["phase"] == "wait" and waits["calls"] >= 2 * 19
    assert all(0 <= row["mean_seconds"] <= row["max_seconds"] and
               row["longest_seconds"] <= row["max_seconds"] for row in rows)
    means = [row["mean_seconds"] for row in rows]
    assert means == sorted(means, reverse=True)
    assert all(site in text for site in sites if "wait" in site)


# A full disk


@pytest.fixture
def small_disk(tmp_path):
    """A folder with room for 1 MiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)],
                             capture_output=True, text=True, check=False)
    if mounted.returncode != 0:
        skip(f"no small disk can be mounted here: {mounted.stderr.strip()}", needs="mount")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk_leaves_other_old_files(small_disk):
    names = ["r.json", "t.json", "u.png"]
    for name in names:
        (small_disk / name).write_text("old")
    (small_disk / "filler").write_bytes(bytes((1 << 20) - 16384))
    end = run("solve", "laplace", "--cells", "60x50", "--sweeps", "200", "--tolerance", "0", "--ranks", "2",
              "--json", "r.json", "--trace", "t.json", "--output", "u.png", cwd=small_disk)
    assert end.code == 4
    assert end.err.startswith("halocline: ") and "No space left" in end.err
    for name in names:
        assert name in end.err and (small_disk / name).read_text() == "old"
    assert sorted(os.listdir(small_disk)) == sorted(["filler", *names])
