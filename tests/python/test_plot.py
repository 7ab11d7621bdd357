# SPDX-License-Identifier: Apache-2.0
"""Pictures of fields and of reports: what is drawn, not how it looks."""

import html.parser
import json
import subprocess
import sys

import halocline as hc
import numpy as np
import pytest
from mpi4py import MPI
from test_launch import as_no_rank  # noqa: F401

matplotlib = pytest.importorskip("matplotlib")

from halocline.plots import command, fields, panels, planes, reports, sources  # noqa: E402

WORLD = MPI.COMM_WORLD
WAVE = hc.Problem(
    """axes = 2
cells = [60, 20]
lower = [-1.0, 0.0]
upper = [2.0, 1.0]
[parameters]
dt = 0.5
[fields.u]
initial = "x"
boundary = "periodic"
[fields.v]
initial = "j"
boundary = "periodic"
[update]
u = "u"
v = "v"
[stop]
sweeps = 4
norm = "max"
""",
    "still",
)


def drawn(panel):
    """Returns the Axes of a panel, drawn once so that labels are what a reader sees."""
    figure = panels.figure_of([panel])
    figure.canvas.draw()
    return figure.axes[0]


# ---- which cells a picture shows ----


def test_the_middle_along_z_is_shown():
    shown = fields.sampling(fields.Space((9, 4, 5)))
    assert shown.slices == (slice(4, 5, 1), slice(0, 4, 1), slice(0, 5, 1)) and shown.axes == [1, 2]
    assert shown.where() == "z = cell 4"
    assert fields.sampling(fields.Space((9, 4, 5), (0, 0, 0), (2, 1, 1)), {"z": 1}).where() == "z = 3"


def test_any_axis_can_be_cut():
    shown = fields.sampling(fields.Space((9, 4, 5)), {"x": 3})
    assert shown.slices[2] == slice(3, 4, 1) and shown.axes == [0, 1] and shown.shape == (9, 4, 1)


@pytest.mark.parametrize(
    "cells, at, text",
    [
        ((4, 5), {"x": 1}, "2 axes is drawn whole"),
        ((9, 4, 5), {"x": 5}, "0 to 4"),
        ((9, 4, 5), {"x": -1}, "0 to 4"),
        ((9, 4, 5), {"w": 1}, "no axis 'w'"),
        ((9, 4, 5), {"x": 1, "y": 1}, "cuts one axis, not 2"),
    ],
)
def test_wrong_slices_are_told(cells, at, text):
    with pytest.raises(hc.UsageError, match=text):
        fields.sampling(fields.Space(cells), at)


def test_long_axes_are_sampled():
    shown = fields.sampling(fields.Space((3, 5000)))
    assert shown.slices == (slice(2, 3, 5), slice(2, 5000, 5)) and shown.shape == (1, 1000)


@pytest.mark.parametrize("cells", [(7,), (3000,), (5, 2500), (2500, 5), (6, 7, 8), (4, 1500, 9)])
def test_parts_make_the_whole(cells):
    values = np.arange(np.prod(cells)).reshape(cells)
    shown = fields.sampling(fields.Space(cells))
    picture = np.full(shown.shape, -1)
    ends = [sorted({0, count // 3, count // 2, count}) for count in cells]
    parts = [[slice(a, b) for a, b in zip(one, one[1:])] for one in ends]
    for index in np.ndindex(*map(len, parts)):
        owned = tuple(of_axis[i] for of_axis, i in zip(parts, index))
        of_part, place = shown.local(owned)
        picture[place] = values[owned][of_part]
    np.testing.assert_array_equal(picture, values[shown.slices])


@pytest.mark.parametrize(
    "least, most, ends, is_diverging",
    [
        (0, 1, (0, 1), False),
        (-1, 1, (-1, 1), True),
        (-1, 4, (-4, 4), True),
        (-1, 4.1, (-1, 4.1), False),
        (-3, -1, (-3, -1), False),
        (2, 2, (2, 2), False),
    ],
)
def test_scales_with_both_signs_are_about_zero(least, most, ends, is_diverging):
    shown = fields.sampling(fields.Space((3,)))
    scale = planes.scale_of([fields.plane_of("u", np.array([least, most, np.nan]), shown)])
    assert (scale.least, scale.most) == ends and scale.is_diverging == is_diverging
    assert planes.scale_of([], (-1, 4)) == planes.Scale(-1, 4) and not planes.Scale(-1, 4).is_diverging


# ---- results ----


def test_a_result_draws_the_whole_domain():
    result = hc.solve(WAVE, backend="cpu", sums=["u"])
    figure = result.plot()
    if WORLD.rank != 0:
        assert figure is None
        return
    titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
    assert titles[:4] == ["u, t = 2", "v, t = 2", "max norm", "sum(u)"]
    assert list(figure.axes[3].lines[0].get_xdata()) == [0, 0.5, 1, 1.5, 2]
    u, v = (axes.images[0] for axes in figure.axes[:2])
    x = -1 + (np.arange(60) + 0.5) / 20
    np.testing.assert_allclose(u.get_array()[0], x)
    np.testing.assert_array_equal(v.get_array()[:, 0], np.arange(20))
    assert tuple(u.get_extent()) == (-1, 2, 0, 1) and figure.axes[0].get_aspect() == 1
    assert u.get_cmap().name == "coolwarm" and v.get_cmap().name == "viridis"
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_a_result_draws_one_field_and_a_slice():
    result = hc.solve("heat", cells=(8, 10, 12), sweeps=2, backend="cpu")
    figure = result.plot("u", at={"y": 3}, range=(0, 2))
    if figure is not None:
        (image,) = figure.axes[0].images
        assert image.get_array().shape == (8, 12) and image.get_clim() == (0, 2)
        assert "y = 0.35" in figure.axes[0].get_title()


def test_mistakes_about_pictures_are_told():
    result = hc.solve(WAVE, backend="cpu")
    with pytest.raises(hc.UsageError, match="no field 'w'; there are: u, v"):
        result.plot("w")


# ---- files ----


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files and reports of runs, by the command."""
    if WORLD.size > 1:
        pytest.skip("by one process")
    return tmp_path_factory.mktemp("plots")


@pytest.fixture
def files(folder, as_no_rank):  # noqa: F811
    if not any(folder.iterdir()):
        (folder / "still.toml").write_text(WAVE.text)
        outputs = [f"--output={folder / one}" for one in ("still.vti", "still.vtkhdf", "u.npy")]
        run = ["solve", str(folder / "still.toml"), *outputs, "--output-every=2", f"--trace={folder / 'trace.json'}"]
        report = hc.command.report_of(*run, ranks=2, backend="cpu")
        (folder / "solve.json").write_text(json.dumps(report))
    return folder


def test_files_have_their_coordinates_and_times(files):
    pytest.importorskip("h5py")
    for name in ("still.pvd", "still.vtkhdf"):
        stored = fields.read_fields(files / name)
        assert [(one.name, one.when) for one in stored][::2] == [("u", f"t = {t}") for t in (0, 1, 2)], name
        space = stored[0].space
        assert space.cells == (20, 60) and space.ends(1) == (-1, 2) and space.names == "yx"
        np.testing.assert_array_equal(np.asarray(stored[1].values[0:20, 0:60])[:, 7], np.arange(20))
    (of_sweeps,) = fields.read_fields(files / "u-000002.npy")
    assert (of_sweeps.name, of_sweeps.when, of_sweeps.space.cells) == ("u", "2 sweeps", (20, 60))


def test_numbered_files_share_a_scale(tmp_path):
    np.save(tmp_path / "u-000000.npy", np.array([[0.0, 1.0]]))
    np.save(tmp_path / "u-000010.npy", np.array([[0.0, 3.0]]))
    np.save(tmp_path / "v.npy", np.array([[0.0, 9.0]]))
    found = sources.read([tmp_path / one for one in ("u-000000.npy", "u-000010.npy", "v.npy")])
    lines = [drawn(source.panels[0]) for source in found]
    assert [axes.get_ylim()[1] > 3 for axes in lines] == [True, True, True]
    assert lines[0].get_ylim() == lines[1].get_ylim() != lines[2].get_ylim()


def test_a_film_has_a_frame_for_each_time(files, tmp_path, capsys):
    pytest.importorskip("h5py")
    from PIL import Image

    names = sorted(str(one) for one in files.glob("u-*.npy"))
    command.run([*names, "--output", str(tmp_path / "u.gif"), "--fps", "5"])
    command.run([str(files / "still.vtkhdf"), "--field", "v", "--output", str(tmp_path / "v.gif")])
    assert capsys.readouterr().out.splitlines() == [
        f"{tmp_path / 'u.gif'}: 3 frames",
        f"{tmp_path / 'v.gif'}: 3 frames",
    ]
    with Image.open(tmp_path / "u.gif") as film:  # equal frames are one
        assert film.format == "GIF" and film.size == (640, 480)


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.pictures, self.links, self.headings, self.inside = 0, [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.inside = tag
        self.pictures += tag == "figure"
        self.links += [value for name, value in attributes if name in ("src", "href", "xlink:href")]

    def handle_data(self, data):
        if self.inside == "h2" and data.strip():
            self.headings.append(data)


def test_a_page_needs_no_other_file(files, tmp_path):
    named = [files / one for one in ("solve.json", "trace.json", "still.pvd")]
    command.run([*map(str, named), "--html", str(tmp_path / "page.html")])
    page = Page((tmp_path / "page.html").read_text())
    assert page.headings == ["solve.json", "trace.json", "still.pvd"]
    assert page.pictures == len(reports.panels_of(json.loads(named[0].read_text()))) + 1 + 2
    assert all(link.startswith(("#", "data:")) for link in page.links)
    command.run([*map(str, named), "--html", str(tmp_path / "again.html")])
    assert (tmp_path / "again.html").read_text() == (tmp_path / "page.html").read_text()


def test_a_result_is_a_page(tmp_path):
    result = hc.solve(WAVE, backend="cpu")
    path = WORLD.bcast(tmp_path / "run.html")
    result.save_page(path)
    if WORLD.rank == 0:
        page = Page(path.read_text())
        assert page.headings == ["still"] and page.pictures == 2 + len(reports.panels_of(result.report))


def test_the_command_draws(files, tmp_path):
    (tmp_path / "u.npy").write_bytes((files / "u-000004.npy").read_bytes())
    run = [sys.executable, "-m", "halocline", "plot"]
    end = subprocess.run([*run, "u.npy"], cwd=tmp_path, capture_output=True, text=True)
    assert (end.returncode, end.stdout, end.stderr) == (0, "u-plot.png\n", "")
    end = subprocess.run([*run, "nothing.npy"], cwd=tmp_path, capture_output=True, text=True)
    assert (end.returncode, end.stderr) == (2, "halocline: there is no file 'nothing.npy'\n")


@pytest.mark.parametrize(
    "words, text",
    [
        (["u.npy", "--field", "w"], "no field 'w'; there are: u"),
        (["u.txt"], "ends in none of .npy"),
        (["bad.npy"], "is no .npy file of fields"),
        (["bad.vti"], "is no .vti file of fields"),
        (["bad.json"], "cannot be read as a report"),
        (["list.json"], "is no report, but a list"),
        (["other.json"], "'bench copy' has no picture"),
        (["old.json"], "no report of this version"),
        (["u.npy", "--output", "u.xyz"], "'u.xyz' ends in none of"),
        (["u.npy", "other.json", "--output", "u.gif"], "'other.json' ends in none of .npy"),
        (["u.npy", "w.npy", "--output", "u.gif"], "one field of u, w"),
        (["u.npy", "--fps", "0", "--output", "u.gif"], "--fps 0"),
        (["u.npy", "--fps", "5"], "only a film has frames"),
        (["solve.json", "--range", "0,1"], "--range is for fields"),
        (["four.npy"], "1 to 3 axes"),
    ],
)
def test_mistakes_are_told(words, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("u.npy", np.zeros((3, 4)))
    np.save("w.npy", np.zeros((3, 4)))
    np.save("four.npy", np.zeros((2, 2, 2, 2)))
    for name, content in {
        "u.txt": "", "bad.npy": "no", "bad.vti": "<no", "bad.json": "{", "list.json": "[]",
        "other.json": '{"report": "bench copy"}', "old.json": '{"report": "solve"}',
    }.items():  # fmt: skip
        (tmp_path / name).write_text(content)
    with pytest.raises(hc.UsageError, match=text):
        command.run(words)


def test_a_full_disk_is_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("u.npy", np.zeros((3, 4)))
    for words in (["--output", "/dev/full/u.png"], ["--html", "/dev/full/u.html"]):
        with pytest.raises(hc.ResourceError, match="cannot be written"):
            command.run(["u.npy", *words])


# ---- reports ----


def test_reports_of_the_command_are_drawn(as_no_rank):  # noqa: F811
    p2p = hc.bench("p2p", ranks=3, sizes=[8, "1Ki"], transport="mpi", memory="host", seconds=0.001)
    by_title = {panel.title: panel for panel in reports.panels_of(p2p)}
    assert list(by_title) == [
        "latency", "bandwidth, one way", "bandwidth, both ways", "mpi, host: us of 8 B", "mpi, host: GB/s of 1 KiB"
    ]  # fmt: skip
    (line,) = drawn(by_title["latency"]).lines
    of_8 = [case["latency_us"] for case in p2p["cases"] if case["bytes"] == 8]
    assert list(line.get_xdata()) == [8, 1024] and line.get_ydata()[0] == pytest.approx(np.mean(of_8))
    matrix = drawn(by_title["mpi, host: us of 8 B"]).images[0].get_array()
    assert matrix[0, 1] == matrix[1, 0] == p2p["cases"][0]["latency_us"]

    step = hc.bench("step", problem="laplace", cells=(64, 64), ranks=[1, 2], sweeps=2, repetitions=2, backend="cpu")
    rate, efficiency = map(drawn, reports.panels_of(step))
    assert list(rate.lines[0].get_ydata()) == [case["glups"] for case in step["cases"]]
    assert efficiency.lines[0].get_ydata()[0] == 100

    halo = hc.bench("halo", ranks=2, cells_per_rank=[(8, 8), (16, 16)], memory="host", transport="mpi", seconds=0.001)
    assert drawn(reports.panels_of(halo)[0]).get_yticklabels()[1].get_text() == "16x16"
    assert halo.plot().axes and hc.plan("laplace", ranks=4).plot().axes


def test_phases_are_of_each_rank():
    result = hc.solve("laplace", cells=(24, 20), sweeps=9, backend="cpu")
    phases = result.report["phases"]
    assert len(phases["compute"]["ranks"]) == WORLD.size
    panel = {one.title: one for one in reports.panels_of(result.report)}["time of each rank, without the first sweep"]
    longest = max(phases.values(), key=lambda phase: phase["mean"])
    widths = [bar.get_width() for bar in drawn(panel).patches]  # without phases that nobody would see
    assert all(any(width == pytest.approx(1e3 * seconds) for width in widths) for seconds in longest["ranks"])


def test_a_roofline_takes_a_solve_and_a_doctor():
    solve = dict(hc.solve("laplace", cells=(24, 20), sweeps=9, backend="cpu", comm=MPI.COMM_SELF).report)
    doctor = {"report": "doctor", "speeds": [{"host": "a", "gpu": None, "copy_gb_per_s": 8.0, "host_gb_per_s": None}]}
    assert reports.roofline([solve]) == [] == reports.roofline([doctor])
    axes = drawn(*reports.roofline([solve, doctor]))
    point, roof = axes.lines
    operations, bytes_moved = solve["operations_per_update"], solve["bytes_per_update"]
    assert (operations, bytes_moved) == (4, 16)
    assert point.get_xdata()[0] == operations / bytes_moved * solve["sweeps_per_pass"]
    assert point.get_ydata()[0] == pytest.approx(operations * solve["glups"])
    assert roof.get_ydata()[1] / roof.get_xdata()[1] == pytest.approx(8)
