# SPDX-License-Identifier: Apache-2.0
"""Files to draw, and the pictures, films and pages that are drawn of them."""

from __future__ import annotations

import dataclasses
import json
import pathlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from halocline.errors import ResourceError, UnavailableError, UsageError
from halocline.plots.fields import Plane, plane_of, read_fields, sampling, without_number
from halocline.plots.panels import PANEL, Panel, figure_of
from halocline.plots.planes import panel_of_plane, scale_of
from halocline.plots.reports import panels_of, roofline

FIELDS = (".npy", ".vti", ".pvd", ".vtkhdf")
FILMS = (".gif", ".mp4", ".webp")


@dataclasses.dataclass(frozen=True)
class Source:
    """A file to draw, or one of its times."""

    name: str
    panels: list[Panel]
    report: Mapping[str, Any] | None = None


def read_report(path: pathlib.Path) -> dict[str, Any]:
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"'{path}' cannot be read as a report: {error}") from error
    if not isinstance(report, dict):
        raise UsageError(f"'{path}' is no report, but a {type(report).__name__}")
    return report


def read_planes(
    paths: Iterable[pathlib.Path], field: str | None, at: Mapping[str, int] | None
) -> list[tuple[pathlib.Path, list[Plane]]]:
    """Returns the planes of fields in files, all of a file's times. UsageError for a field that none has."""
    import numpy

    found, names = [], set()
    for path in paths:
        planes = []
        for one in read_fields(path):
            names.add(one.name)
            if field is None or one.name == field:
                shown = sampling(one.space, at)
                planes.append(plane_of(one.name, numpy.asarray(one.values[shown.slices]), shown, one.when))
        found.append((path, planes))
    if names and not any(planes for _, planes in found):
        raise UsageError(f"there is no field '{field}'; there are: {', '.join(sorted(names))}")
    return found


def _panels_of_planes(
    found: Iterable[tuple[pathlib.Path, list[Plane]]], given: Sequence[float] | None
) -> dict[pathlib.Path, list[Panel]]:
    """Returns panels of each file's last time, all of a film with one scale for each field."""
    films: dict[tuple[pathlib.Path, str, str], list[Plane]] = {}
    files = list(found)
    for path, planes in files:
        for plane in planes:
            films.setdefault(_film_of(path, plane), []).append(plane)
    scales = {film: scale_of(planes, given) for film, planes in films.items()}
    return {
        path: [panel_of_plane(one, scales[_film_of(path, one)]) for one in {one.name: one for one in planes}.values()]
        for path, planes in files
    }


def _film_of(path: pathlib.Path, plane: Plane) -> tuple[pathlib.Path, str, str]:
    return path.parent, without_number(path.stem)[0] + path.suffix, plane.name


def read(
    paths: Sequence[pathlib.Path],
    *,
    field: str | None = None,
    at: Mapping[str, int] | None = None,
    range: Sequence[float] | None = None,
) -> list[Source]:
    """Reads what to draw: fields, of several times the last, and reports; behind them a roofline, where both a solve
    and a doctor are among them. UsageError for what cannot be drawn."""
    for path in paths:
        if path.suffix not in (*FIELDS, ".json"):
            raise UsageError(f"'{path}' ends in none of {', '.join(FIELDS)} (fields), .json (reports, timelines)")
        if not path.is_file():
            raise UsageError(f"there is no file '{path}'")
    of_fields = _panels_of_planes(read_planes([path for path in paths if path.suffix in FIELDS], field, at), range)
    sources = []
    for path in paths:
        if path in of_fields:
            sources.append(Source(path.name, of_fields[path]))
        else:
            report = read_report(path)
            sources.append(Source(path.name, panels_of(report), report))
    together = roofline(source.report for source in sources if source.report is not None)
    return sources + ([Source("roofline", together)] if together else [])


def panels_of_all(sources: Sequence[Source]) -> list[Panel]:
    """Returns the panels of sources, each with the name of its source where there are several."""
    if len(sources) == 1:
        return sources[0].panels
    return [
        Panel(panel.title if panel.title == source.name else f"{source.name}: {panel.title}", panel.draw)
        for source in sources
        for panel in source.panels
    ]


def save(panels: Sequence[Panel], path: pathlib.Path) -> None:
    """Writes a picture of all panels: .png, .svg, .pdf and what else matplotlib writes."""
    figure = figure_of(panels)
    known = figure.canvas.get_supported_filetypes()
    if path.suffix.removeprefix(".") not in known:
        raise UsageError(
            f"'{path}' ends in none of {', '.join('.' + one for one in (*known, *(f[1:] for f in FILMS)))}"
        )
    _write(path, lambda: figure.savefig(path, dpi=120, metadata=_no_date(path)))


def _no_date(path: pathlib.Path) -> dict[str, Any] | None:
    return {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix)


def _write(path: pathlib.Path, write: Callable[[], None]) -> None:
    try:
        write()
    except OSError as error:
        raise ResourceError(f"'{path}' cannot be written: {error}") from error


def save_film(
    paths: Sequence[pathlib.Path],
    output: pathlib.Path,
    *,
    field: str | None = None,
    at: Mapping[str, int] | None = None,
    range: Sequence[float] | None = None,
    frames_per_second: float = 10,
) -> int:
    """Writes a film of one field, a frame for each file and each of its times; returns how many."""
    from matplotlib import animation
    from matplotlib.figure import Figure

    others = [path for path in paths if path.suffix not in FIELDS]
    if others:
        raise UsageError(f"a film shows fields; '{others[0]}' ends in none of {', '.join(FIELDS)}")
    frames = [plane for _, planes in read_planes(paths, field, at) for plane in planes]
    names = dict.fromkeys(plane.name for plane in frames)
    if len(names) > 1:
        raise UsageError(f"a film shows one field of {', '.join(names)}; choose it by --field")
    if len({plane.values.shape for plane in frames}) > 1:
        raise UsageError("the fields have different cells; a film shows one domain")
    scale = scale_of(frames, range)
    figure = Figure(figsize=PANEL, layout="constrained")

    def draw(plane: Plane) -> None:
        figure.clear()
        axes = figure.add_subplot()
        axes.set_title(plane.title())
        panel_of_plane(plane, scale).draw(axes)

    if output.suffix == ".mp4" and not animation.writers.is_available("ffmpeg"):
        raise UnavailableError(".mp4 takes ffmpeg, which is not in PATH; .gif and .webp do not")
    writer = "ffmpeg" if output.suffix == ".mp4" else "pillow"
    film = animation.FuncAnimation(figure, draw, frames, init_func=lambda: None, cache_frame_data=False)
    _write(output, lambda: film.save(output, writer, frames_per_second, dpi=100))
    return len(frames)
