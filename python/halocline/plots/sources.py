# SPDX-License-Identifier: Apache-2.0
"""Files to draw, and the pictures, films and pages that are drawn of them."""

from __future__ import annotations

import dataclasses
import json
import pathlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from halocline.errors import ResourceError, UnavailableError, UsageError
from halocline.plots.fields import Stored, read_fields, without_number
from halocline.plots.panels import Panel, figure_of
from halocline.plots.planes import panel_of_plane, scale_of
from halocline.plots.reports import panels_of, roofline

FIELDS = (".npy", ".vti", ".pvd", ".vtkhdf")
FILMS = (".gif", ".mp4", ".webp")


@dataclasses.dataclass(frozen=True)
class Source:
    """A file to draw."""

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


def _check(paths: Iterable[pathlib.Path], suffixes: Sequence[str], what: str) -> None:
    for path in paths:
        if path.suffix not in suffixes:
            raise UsageError(f"'{path}' ends in none of {', '.join(suffixes)}{what}")
        if not path.is_file():
            raise UsageError(f"there is no file '{path}'")


def _fields_of(paths: Iterable[pathlib.Path], field: str | None) -> dict[pathlib.Path, list[Stored]]:
    """Returns the fields of files, or one of them, with all of a file's times. UsageError if no file has it."""
    found = {path: read_fields(path) for path in paths}
    names = dict.fromkeys(one.name for several in found.values() for one in several)
    if field is None or not names:
        return found
    if field not in names:
        raise UsageError(f"there is no field '{field}'; there are: {', '.join(names)}")
    return {path: [one for one in several if one.name == field] for path, several in found.items()}


def _panels_of_fields(
    found: Mapping[pathlib.Path, list[Stored]], at: Mapping[str, int] | None, given: Sequence[float] | None
) -> dict[pathlib.Path, list[Panel]]:
    """Returns panels of each file's last time. All of a film have one scale for each field."""

    def film_of(path: pathlib.Path, one: Stored) -> tuple[pathlib.Path, str, str]:
        return path.parent, without_number(path.stem)[0] + path.suffix, one.name

    films: dict[tuple[pathlib.Path, str, str], list[Stored]] = {}
    for path, several in found.items():
        for one in several:
            films.setdefault(film_of(path, one), []).append(one)
    scales = {film: scale_of((one.plane(at) for one in several), given) for film, several in films.items()}
    return {
        path: [
            panel_of_plane(one.plane(at), scales[film_of(path, one)])
            for one in {one.name: one for one in several}.values()
        ]
        for path, several in found.items()
    }


def read(
    paths: Sequence[pathlib.Path],
    *,
    field: str | None = None,
    at: Mapping[str, int] | None = None,
    range: Sequence[float] | None = None,
) -> list[Source]:
    """Reads what to draw: fields, of several times the last, and reports; behind them a roofline, where both a solve
    and a doctor are among them. UsageError for what cannot be drawn."""
    _check(paths, (*FIELDS, ".json"), ", which are fields and reports")
    of_fields = _panels_of_fields(_fields_of([path for path in paths if path.suffix in FIELDS], field), at, range)
    sources = []
    for path in paths:
        if path in of_fields:
            sources.append(Source(path.name, of_fields[path]))
            continue
        report = read_report(path)
        try:
            sources.append(Source(path.name, panels_of(report), report))
        except (KeyError, TypeError) as error:
            raise UsageError(f"'{path}' is no report of this version of Halocline: {error!r}") from error
    together = roofline(source.report for source in sources if source.report is not None)
    return sources + ([Source("roofline", together)] if together else [])


def panels_of_all(sources: Sequence[Source]) -> list[Panel]:
    """Returns the panels of sources, each with the name of its source where there are several."""
    if len(sources) == 1:
        return sources[0].panels
    return [
        panel if panel.title == source.name else dataclasses.replace(panel, title=f"{source.name}: {panel.title}")
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

    _check(paths, FIELDS, ", which are fields, and a film shows one")
    frames = [one for several in _fields_of(paths, field).values() for one in several]
    names = dict.fromkeys(one.name for one in frames)
    if len(names) > 1:
        raise UsageError(f"a film shows one field of {', '.join(names)}; choose it by --field")
    if len({one.space.cells for one in frames}) > 1:
        raise UsageError("the fields have different cells; a film shows one domain")
    scale = scale_of((one.plane(at) for one in frames), range)
    figure = Figure(layout="constrained")

    def draw(one: Stored) -> None:
        plane = one.plane(at)
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
