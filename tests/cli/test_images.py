# SPDX-License-Identifier: Apache-2.0
"""Files for ParaView, .vtkhdf and .vti, as VTK reads them: each value and its place in space and time."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from command import ROOT, run, skip, started

MISSING = 3
READER = pathlib.Path(__file__).with_name("read_image.py")


@pytest.fixture(scope="session")
def vtk():
    """Reads a file with VTK: what it says of it, and its arrays."""
    if not (ROOT / "build/vtk/vtkmodules").is_dir():
        skip("there is no VTK; scripts/setup brings it into build/vtk", needs="vtk")

    def read(path):
        out = path.with_suffix(path.suffix + ".npz")
        end = subprocess.run([sys.executable, READER, path, out], capture_output=True, text=True)
        assert end.returncode == 0 and "ERR" not in end.stderr, end.stdout + end.stderr
        with np.load(out) as arrays:
            return json.loads(end.stdout), dict(arrays)

    return read


@pytest.fixture(scope="session", autouse=True)
def hdf5(tmp_path_factory):
    end = run("solve", "laplace", "--cells", "9x9", "--sweeps", "1", "--output", "u.vtkhdf", "--quiet",
              cwd=tmp_path_factory.mktemp("hdf5"))
    if end.code == MISSING:
        skip(end.err, needs="hdf5")


def solve(*words, cwd, code=0, **options):
    cwd.mkdir(exist_ok=True)
    end = run("solve", *words, cwd=cwd, **options)
    assert end.code == code, end
    return end


@pytest.mark.parametrize("ending", ["vtkhdf", "vti"])
@pytest.mark.parametrize("problem, cells, fields", [
    ("gray_scott", "45x31", ["u", "v"]), ("star7", "20x18x12", ["u"]), ("burgers", "300", ["u"]),
    ("acoustic", "40x30", ["u", "u_old"]), ("heat", "30x20x10", ["u"])])
def test_smoke_an_image_has_the_values_of_its_arrays(problem, cells, fields, ending, vtk, tmp_path):
    arrays = [f"--output={name}={name}.npy" for name in fields]
    solve(problem, "--cells", cells, "--sweeps", "30", "--ranks", "3", *arrays, "--output", f"all.{ending}",
          cwd=tmp_path)
    about, values = vtk(tmp_path / f"all.{ending}")
    extents = [int(n) for n in cells.split("x")]
    assert about["fields"] == fields and about["times"] == []
    assert about["dimensions"] == [n + 1 for n in extents] + [1] * (3 - len(extents))
    for name in fields:
        expected = np.load(tmp_path / f"{name}.npy")
        assert values[name].dtype == expected.dtype
        assert np.array_equal(values[name].reshape(expected.shape), expected), name


@pytest.mark.parametrize("ending", ["vtkhdf", "vti"])
def test_cells_lie_where_the_problem_puts_them(ending, vtk, tmp_path):
    solve("acoustic", "--cells", "80x60", "--sweeps", "3", "--output", f"u.{ending}", cwd=tmp_path)
    about, _ = vtk(tmp_path / f"u.{ending}")
    assert about["origin"] == [0, 0, 0]  # metres, to 4000 and 3000
    assert about["spacing"][:2] == [50, 50]


@pytest.mark.parametrize("ending", ["vtkhdf", "vti"])
def test_one_field_by_its_name(ending, vtk, tmp_path):
    solve("gray_scott", "--cells", "20x20", "--sweeps", "5", "--output", f"v=v.{ending}", "--output", "v=v.npy",
          cwd=tmp_path)
    about, values = vtk(tmp_path / f"v.{ending}")
    assert about["fields"] == ["v"]
    assert np.array_equal(values["v"][0], np.load(tmp_path / "v.npy"))


@pytest.mark.parametrize("ending", ["vtkhdf", "vti"])
def test_files_are_the_same_for_every_split(ending, tmp_path):
    words = ["wave_sponge", "--cells", "40x50", "--sweeps", "9"]
    solve(*words, "--output", f"a.{ending}", cwd=tmp_path)
    solve(*words, "--output", f"b.{ending}", "--ranks", "4", "--layout", "brick", cwd=tmp_path)
    assert (tmp_path / f"a.{ending}").read_bytes() == (tmp_path / f"b.{ending}").read_bytes()


def test_one_file_has_all_times(vtk, tmp_path):
    words = ["wave_sponge", "--cells", "40x50", "--sweeps", "45", "--output-every", "20"]
    solve(*words, "--ranks", "2", "--output", "all.vtkhdf", "--output", "u=u.npy", cwd=tmp_path)
    about, values = vtk(tmp_path / "all.vtkhdf")
    assert about["times"] == pytest.approx([0, 0.2, 0.4, 0.45])
    for number, sweeps in enumerate((0, 20, 40, 45)):
        expected = np.load(tmp_path / f"u-{sweeps:06}.npy")
        assert np.array_equal(values[f"u@{number}"][0], expected)


def test_a_list_has_the_files_of_all_times(vtk, tmp_path):
    words = ["wave_sponge", "--cells", "40x50", "--sweeps", "45", "--output-every", "20"]
    solve(*words, "--output", "u.vti", "--output", "u=all.vtkhdf", cwd=tmp_path)
    listed = ElementTree.parse(tmp_path / "u.pvd").getroot().findall("Collection/DataSet")
    about, values = vtk(tmp_path / "all.vtkhdf")
    assert [float(one.get("timestep")) for one in listed] == about["times"]
    for number, one in enumerate(listed):
        _, image = vtk(tmp_path / one.get("file"))
        assert np.array_equal(image["u"], values[f"u@{number}"])


def test_a_killed_run_leaves_the_times_so_far(vtk, tmp_path):
    words = ["wave_sponge", "--cells", "200x150", "--sweeps", "1000000", "--output-every", "500",
             "--output", "u.vtkhdf"]
    for number in range(3):
        with started("solve", *words, "--ranks", "2", cwd=tmp_path) as job:
            end = time.monotonic() + 60
            while not (tmp_path / "u.vtkhdf").exists() and time.monotonic() < end:
                time.sleep(0.01)
            time.sleep(0.5 + 0.13 * number)
            for pid in job.processes():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            job.child.communicate(timeout=60)
        about, values = vtk(tmp_path / "u.vtkhdf")
        assert len(about["times"]) > 1
        assert np.isfinite(values[f"u@{len(about['times']) - 1}"]).all()
        last = len(about["times"]) - 1
        solve("wave_sponge", "--cells", "200x150", "--sweeps", 500 * last, "--output", "last.npy", cwd=tmp_path)
        assert np.array_equal(values[f"u@{last}"][0], np.load(tmp_path / "last.npy"))
        (tmp_path / "u.vtkhdf").unlink()


def test_checkpoints_are_images(vtk, tmp_path):
    solve("wave_sponge", "--cells", "40x50", "--sweeps", "9", "--checkpoint", "saved", "--output", "u.npy",
          "--ranks", "3", cwd=tmp_path)
    about, values = vtk(tmp_path / "saved" / "sweep-000000000009.vtkhdf")
    assert about["fields"] == ["u", "u_old"]
    assert np.array_equal(values["u"][0], np.load(tmp_path / "u.npy"))


def test_without_hdf5_it_is_said_what_to_install(tmp_path):
    none = {"HALOCLINE_HDF5": str(tmp_path / "no-such-library.so")}
    end = solve("laplace", "--cells", "30x20", "--output", "u.vtkhdf", code=MISSING, env=none, cwd=tmp_path)
    assert end.out == "" and end.err.count("\n") == 1
    for text in ("HDF5", "no-such-library.so", "u.vtkhdf", ".vti"):
        assert text in end.err, end
    assert os.listdir(tmp_path) == []
    solve("laplace", "--cells", "30x20", "--output", "u.vti", env=none, cwd=tmp_path)


GRAY_SCOTT = ["gray_scott", "--cells", "60x50", "--sweeps", "100"]
EVERY_20 = ["--output-every", "20"]


@pytest.fixture
def two_legs(tmp_path):
    """A run with files of all times, as it was 10 sweeps before its end: a checkpoint, and files that know
    more than that; beside it the same files of one run."""
    solve(*GRAY_SCOTT, *EVERY_20, "--output", "u.vtkhdf", "--output", "u=list.vti", cwd=tmp_path / "whole")
    solve(*GRAY_SCOTT, *EVERY_20, "--output", "u.vtkhdf", "--output", "u=list.vti", "--checkpoint", "saved",
          "--checkpoint-every", "30", "--ranks", "2", cwd=tmp_path)
    (tmp_path / "saved/sweep-000000000100.vtkhdf").unlink()
    return tmp_path


def test_files_of_all_times_go_on_with_their_run(two_legs):
    (two_legs / "list.pvd").unlink()
    solve("--restart", "saved", *EVERY_20, "--output", "u.vtkhdf", "--output", "u=list.vti", "--ranks", "3",
          cwd=two_legs)
    for name in ("u.vtkhdf", "list.pvd"):
        assert (two_legs / name).read_bytes() == (two_legs / "whole" / name).read_bytes(), name


def test_a_restart_begins_a_file_that_is_not_there(two_legs, vtk):
    later = ["--restart", "saved", *EVERY_20, "--output", "later.vtkhdf", "--checkpoint-every", "70"]
    solve(*later, "--sweeps", "180", cwd=two_legs)
    first, _ = vtk(two_legs / "later.vtkhdf")
    assert first["times"] == [100, 120, 140, 160, 180]
    once = (two_legs / "later.vtkhdf").read_bytes()
    # From before its first time, and from one of its times.
    for newest in (180, 140):
        (two_legs / f"saved/sweep-{newest:012}.vtkhdf").unlink()
        solve(*later, "--sweeps", "180", cwd=two_legs)
        assert (two_legs / "later.vtkhdf").read_bytes() == once, newest


@pytest.mark.parametrize("words, reason", [
    (["--output-every", "10", "--output", "u.vtkhdf"], "it has no time 10"),
    ([*EVERY_20, "--sweeps", "1000", "--output", "u.vtkhdf"], "room for 7 times, and 52 would be needed"),
    ([*EVERY_20, "--output", "u=u.vtkhdf"], "it has other cells, fields"),
    ([*EVERY_20, "--output", "one.vtkhdf"], "'one.vtkhdf' is not a file of several times"),
    ([*EVERY_20, "--output", "cut.vtkhdf"], "damaged"),
])
def test_a_restart_destroys_no_file_of_other_times(words, reason, two_legs):
    solve("laplace", "--cells", "30x20", "--sweeps", "5", "--output", "one.vtkhdf", cwd=two_legs)
    (two_legs / "cut.vtkhdf").write_bytes((two_legs / "u.vtkhdf").read_bytes()[:300])
    files = {path: path.read_bytes() for path in two_legs.glob("*.vtkhdf")}
    end = solve("--restart", "saved", *words, "--ranks", "2", cwd=two_legs, code=2)
    assert reason in end.err and end.err.count("\n") == 1, end
    assert all(path.read_bytes() == kept for path, kept in files.items())
