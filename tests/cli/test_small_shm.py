# SPDX-License-Identifier: Apache-2.0
"""Where /dev/shm is as small as docker makes it, halos that do not fit go another way."""

import json
import re
import shutil
import subprocess

import pytest

from command import HALOCLINE, run, skip, thorough

MEGABYTES = 14


@pytest.fixture(scope="module")
def small_shm():
    """Starts the command where /dev/shm holds little: run("solve", ..., **small_shm)."""
    mount = f"mount -t tmpfs -o size={MEGABYTES}m none /dev/shm"
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-m", "sh", "-c", mount],
                                         capture_output=True).returncode != 0:
        skip("no file system can be mounted in a namespace of its own", needs="mount")
    return {"program": [unshare, "-m", "sh", "-c", f'{mount} && exec "$0" "$@"', HALOCLINE]}


# Messages of 2 or 4 MiB, with two slots for each; MPIs need some megabytes of their own.
CASES = [(2, "512x512x8", "1x1x2"), pytest.param((3, "512x512x12", "1x1x3"), marks=thorough)]


def words(ranks, cells, process_grid):
    return ["star7", "--cells", cells, "--process-grid", process_grid, "--ranks", ranks, "--sweeps", "2",
            "--backend", "cpu", "--wait-limit", "20"]


@pytest.mark.parametrize("case", CASES)
def test_smoke_auto_goes_another_way(case, small_shm):
    end = run("solve", *words(*case), "--verify", "--json", "-", **small_shm, timeout=120)
    assert end.code == 0, end
    report = json.loads(end.out)
    assert report["verified"]
    assert report["transport"]["same-node"] == "mpi"
    assert any("shared was left out" in note and "/dev/shm" in note for note in report["notes"])


@pytest.mark.parametrize("case", CASES)
def test_smoke_shared_says_what_is_missing(case, small_shm):
    end = run("solve", *words(*case), "--transport", "shared", **small_shm, timeout=120)
    assert end.code == 4 and end.out == "", end
    told = re.search(r"^halocline: .* need ([\d.]+) (\wiB) .*'/dev/shm' has only ([\d.]+) (\wiB) free.*"
                     r"transport mpi", end.err, re.MULTILINE)
    assert told, end.err
    units = {"KiB": 1 << 10, "MiB": 1 << 20}
    needed, free = (float(told[i]) * units[told[i + 1]] for i in (1, 3))
    assert needed > 0.9 * free and free <= MEGABYTES << 20


def test_smoke_what_fits_is_still_shared(small_shm):
    end = run("solve", "laplace", "--cells", "64x64", "--sweeps", "2", "--ranks", "2", "--transport", "shared",
              "--backend", "cpu", **small_shm, timeout=120)
    assert end.code == 0, end


def test_smoke_a_benchmark_leaves_out_what_has_no_room(small_shm):
    end = run("bench", "halo", "--cells-per-rank", "512x512x8", "--width", "2", "--memory", "host",
              "--repetitions", "2", "--ranks", "2", "--json", "-", **small_shm, timeout=120)
    assert end.code == 0, end
    report = json.loads(end.out)
    assert any("shared is not timed" in note and "/dev/shm" in note for note in report["notes"])


@pytest.mark.parametrize("told_by", ["variable", "file"])
def test_another_folder_may_have_room(told_by, small_shm, mpi, tmp_path):
    if "Open MPI" not in mpi:
        skip(f"{mpi} has no setting for its folder of shared memory", needs="openmpi")
    env = {"OMPI_MCA_osc_sm_backing_directory": str(tmp_path)}
    if told_by == "file":
        (tmp_path / ".openmpi").mkdir()
        (tmp_path / ".openmpi/mca-params.conf").write_text(f"osc_sm_backing_directory = {tmp_path}\n")
        env = {"HOME": str(tmp_path)}
    end = run("solve", *words(*CASES[0]), "--transport", "shared", "--verify", env=env, **small_shm, timeout=120)
    assert end.code == 0, end
