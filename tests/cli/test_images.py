# SPDX-License-Identifier: Apache-2.0
"""Files for ParaView, .vtkhdf and .vti, as VTK reads them: each value and its place in space and time."""

import contextlib
import json
import os
import pathlib
import random
import shutil
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


@pytest.fixture(scope="module")
def vtk(tmp_path_factory):
    """Reads a file with VTK: what it says of it, and its arrays. One process reads all: VTK takes a second to start."""
    if not (ROOT / "build/vtk/vtkmodules").is_dir():
        skip("there is no VTK; scripts/setup brings it into build/vtk", needs="vtk")
    complaints = tmp_path_factory.mktemp("vtk") / "complaints"
    with open(complaints, "w") as errors, subprocess.Popen(
            [sys.executable, READER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
            text=True) as reader:

        def read(path):
            before = complaints.stat().st_size
            reader.stdin.write(f"{path}\n")
            reader.stdin.flush()
            about = reader.stdout.readline()
            complaint = complaints.read_text()[before:]
            assert about and "ERR" not in complaint, complaint
            with np.load(f"{path}.npz") as arrays:
                return json.loads(about), dict(arrays)

        yield read


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


@pytest.mark.parametrize("problem, cells, fields, spacing", [
    ("gray_scott", "45x31", ["u", "v"], [1, 1]), ("star7", "20x18x12", ["u"], [1, 1, 1]),
    ("burgers", "300", ["u"], None),
    ("acoustic", "80x60", ["u", "u_old"], [50, 50])])  # metres, to 4000 and 3000
def test_smoke_an_image_has_the_values_of_its_arrays(problem, cells, fields, spacing, vtk, tmp_path):
    one = fields[-1]
    outputs = [f"{name}={name}.npy" for name in fields]
    outputs += [name for ending in ("vtkhdf", "vti") for name in (f"all.{ending}", f"{one}=one.{ending}")]
    solve(problem, "--cells", cells, "--sweeps", "30", "--ranks", "3", *(f"--output={name}" for name in outputs),
          cwd=tmp_path)
    extents = [int(n) for n in cells.split("x")]
    expected = {name: np.load(tmp_path / f"{name}.npy") for name in fields}
    for ending in ("vtkhdf", "vti"):
        about, values = vtk(tmp_path / f"all.{ending}")
        assert about["fields"] == fields and about["times"] == []
        assert about["dimensions"] == [n + 1 for n in extents] + [1] * (3 - len(extents))
        assert spacing is None or about["origin"] == [0, 0, 0]
        assert spacing is None or about["spacing"][:len(extents)] == spacing
        for name in fields:
            assert values[name].dtype == expected[name].dtype
            assert np.array_equal(values[name].reshape(expected[name].shape), expected[name]), name
        about, values = vtk(tmp_path / f"one.{ending}")
        assert about["fields"] == [one]
        assert np.array_equal(values[one].reshape(expected[one].shape), expected[one])


def test_one_file_has_all_times_and_a_list_has_their_files(vtk, tmp_path):
    solve("wave_sponge", "--cells", "40x50", "--sweeps", "45", "--output-every", "20", "--ranks", "2",
          "--output", "all.vtkhdf", "--output", "u=u.npy", "--output", "u=u.vti", cwd=tmp_path)
    about, values = vtk(tmp_path / "all.vtkhdf")
    assert about["times"] == pytest.approx([0, 0.2, 0.4, 0.45])
    listed = ElementTree.parse(tmp_path / "u.pvd").getroot().findall("Collection/DataSet")
    assert [float(one.get("timestep")) for one in listed] == about["times"]
    for number, (sweeps, one) in enumerate(zip((0, 20, 40, 45), listed)):
        expected = np.load(tmp_path / f"u-{sweeps:06}.npy")
        assert np.array_equal(values[f"u@{number}"][0], expected)
        _, image = vtk(tmp_path / one.get("file"))
        assert np.array_equal(image["u"][0], expected)


def test_a_killed_run_leaves_the_times_so_far(vtk, tmp_path):
    words = ["wave_sponge", "--cells", "200x150", "--sweeps", "1000000", "--output-every", "500",
             "--output", "u.vtkhdf", "--output", "u=seen.npy"]  # in this order
    with started("solve", *words, "--ranks", "2", cwd=tmp_path) as job:
        end = time.monotonic() + 60
        while not (tmp_path / "seen-000500.npy").exists() and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(random.uniform(0, 0.3))
        for pid in job.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        job.child.communicate(timeout=60)
    about, values = vtk(tmp_path / "u.vtkhdf")
    last = len(about["times"]) - 1
    assert last > 0
    solve("wave_sponge", "--cells", "200x150", "--sweeps", 500 * last, "--output", "last.npy", cwd=tmp_path)
    assert np.array_equal(values[f"u@{last}"][0], np.load(tmp_path / "last.npy"))


def test_checkpoints_are_images_and_a_restart_begins_a_file(vtk, tmp_path):
    solve("wave_sponge", "--cells", "40x50", "--sweeps", "9", "--checkpoint", "saved", "--output", "u.npy",
          "--ranks", "3", cwd=tmp_path)
    about, values = vtk(tmp_path / "saved" / "sweep-000000000009.vtkhdf")
    assert about["fields"] == ["u", "u_old"]
    assert np.array_equal(values["u"][0], np.load(tmp_path / "u.npy"))
    solve("--restart", "saved", "--sweeps", "30", "--output-every", "10", "--output", "later.vtkhdf", cwd=tmp_path)
    about, _ = vtk(tmp_path / "later.vtkhdf")
    assert about["times"] == pytest.approx([0.1, 0.2, 0.3])


def test_every_hdf5_writes_what_every_other_reads(tmp_path):
    """Checksums in a file's structure hold for the numbers that are replaced in it, too."""
    versions = {version: ROOT / "build" / f"h5py-{version}" for version in ("1.14", "2.0")}
    writers = {"system": {}}
    for version, folder in versions.items():
        library = list(folder.glob("h5py.libs/libhdf5-*.so*"))
        if not library:
            skip(f"there is no HDF5 {version}; scripts/setup brings it into {folder.relative_to(ROOT)}", needs="h5py")
        # What it needs lies beside it.
        writers[version] = {"HALOCLINE_HDF5": str(library[0]), "LD_LIBRARY_PATH": str(library[0].parent)}
    for writer, library in writers.items():
        solve("wave_sponge", "--cells", "40x50", "--sweeps", "45", "--output-every", "20", "--output", "all.vtkhdf",
              "--output", "u=u.npy", "--checkpoint", "saved", cwd=tmp_path / writer, env=library)
    files = [str(tmp_path / writer / name)
             for writer in writers for name in ("all.vtkhdf", "saved/sweep-000000000045.vtkhdf")]
    for version, folder in versions.items():
        reader = subprocess.run([sys.executable, READER.with_name("read_hdf5.py"), *files], text=True,
                                capture_output=True, env=os.environ | {"PYTHONPATH": str(folder)}, timeout=60)
        assert reader.stdout.startswith(version + "."), reader.stderr
        for writer in writers:
            folder = tmp_path / writer
            with np.load(folder / "all.vtkhdf.npz") as times:
                assert times["VTKHDF/Steps@NSteps"] == 4
                assert times["VTKHDF/Steps/Values"] == pytest.approx([0, 0.2, 0.4, 0.45])
                for number, sweeps in enumerate((0, 20, 40, 45)):
                    place = times["VTKHDF/Steps/CellDataOffsets/u"][number]
                    assert np.array_equal(times["VTKHDF/CellData/u"][place], np.load(folder / f"u-{sweeps:06}.npy"))
            with np.load(folder / "saved" / "sweep-000000000045.vtkhdf.npz") as saved:
                assert saved["VTKHDF@Type"] == b"ImageData"
                assert np.array_equal(saved["VTKHDF/CellData/u"], np.load(folder / "u-000045.npy"))
        for file in files:
            os.remove(file + ".npz")
    # Debian's own tools, which have HDF5 1.10.
    if shutil.which("h5dump"):
        for writer in writers:
            dumped = subprocess.run(["h5dump", "-d", "/VTKHDF/Steps/Values", "-y", "-m", "%.17g",
                                     tmp_path / writer / "all.vtkhdf"], text=True, capture_output=True, timeout=60)
            assert dumped.returncode == 0, dumped.stderr
            values = dumped.stdout.split("DATA {")[1].split("}")[0].split(",")
            assert [float(value) for value in values] == pytest.approx([0, 0.2, 0.4, 0.45])
        for file in files:
            subprocess.run(["h5dump", "-o", os.devnull, file], stdout=subprocess.DEVNULL, check=True, timeout=60)


def test_without_hdf5_it_is_said_what_to_install(tmp_path):
    none = {"HALOCLINE_HDF5": str(tmp_path / "no-such-library.so")}
    end = solve("laplace", "--cells", "30x20", "--output", "u.vtkhdf", code=MISSING, env=none, cwd=tmp_path)
    assert end.out == "" and end.err.count("\n") == 1
    for text in ("HDF5", "no-such-library.so", "u.vtkhdf", ".vti"):
        assert text in end.err, end
    assert os.listdir(tmp_path) == []
    solve("laplace", "--cells", "30x20", "--output", "u.vti", env=none, cwd=tmp_path)
