# SPDX-License-Identifier: Apache-2.0
"""The command `halocline plot`."""

from __future__ import annotations

import argparse
import pathlib
from collections.abc import Sequence

from halocline.errors import UsageError
from halocline.plots import page, sources
from halocline.plots.panels import matplotlib

_DESCRIPTION = """\
Draws fields (.npy, .vti, .pvd, .vtkhdf) and reports (what --json and --trace write): norms, values over time, phases of
each rank, latency and bandwidth, scaling, timelines; with a solve's report and doctor's also a roofline. Of several
times in a file it draws the last."""

_EXAMPLES = """\
examples:
  halocline plot u.npy                                 # draws u-plot.png
  halocline plot all.vti --field u                     # axes in the problem's coordinates
  halocline plot u.npy --slice x=10                    # the cells 10 along x, counted from 0
  halocline plot u-*.npy --output u.gif                # a film
  halocline plot solve.json doctor.json --html run.html
"""


def _slice(text: str) -> dict[str, int]:
    axis, equals, cell = text.partition("=")
    if axis not in ("x", "y", "z") or not equals or not cell.isdigit():
        raise argparse.ArgumentTypeError(f"'{text}' is no slice; write an axis and a cell, as z=12")
    return {axis: int(cell)}


def _range(text: str) -> tuple[float, float]:
    least, comma, most = text.partition(",")
    try:
        ends = float(least), float(most)
    except ValueError:
        ends = 0.0, 0.0
    if not comma or not ends[0] < ends[1]:
        raise argparse.ArgumentTypeError(f"'{text}' is no range; write the least and the largest value, as 0,1")
    return ends


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="halocline plot",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", nargs="+", metavar="FILE", type=pathlib.Path, help="what to draw")
    parser.add_argument(
        "--output",
        metavar="PICTURE",
        type=pathlib.Path,
        help="a picture of all (.png, .svg, .pdf), or a film of a field (.gif, .webp, .mp4) with a frame for each file "
        "and each of its times [default: FILE-plot.png, unless there is --html]",
    )
    parser.add_argument(
        "--html", metavar="PAGE", type=pathlib.Path, help="a page of all, with the reports' values, in one file"
    )
    parser.add_argument("--field", metavar="NAME", help="of a file with several [default: all]")
    parser.add_argument(
        "--slice",
        metavar="AXIS=CELL",
        type=_slice,
        help="of three axes, the one to cut, and the cell from 0 [default: the middle along z]",
    )
    parser.add_argument(
        "--range", metavar="MIN,MAX", type=_range, help="values at the ends of the colours [default: the field's]"
    )
    parser.add_argument("--fps", metavar="N", type=float, help="frames of a film a second [default: 10]")
    return parser


def run(words: Sequence[str]) -> None:
    """Draws, and says what it wrote. UsageError for mistakes."""
    options = _parser().parse_args(list(_joined(words)))
    matplotlib()
    files, output, chosen = (
        options.files,
        options.output,
        {"field": options.field, "at": options.slice, "range": options.range},
    )
    is_film = output is not None and output.suffix in sources.FILMS
    if options.fps is not None and not is_film:
        raise UsageError(
            f"--fps {options.fps:g}: only a film has frames; --output names one: {', '.join(sources.FILMS)}"
        )
    frames_per_second = 10.0 if options.fps is None else options.fps
    if not 0 < frames_per_second <= 1000:
        raise UsageError(f"--fps {options.fps:g}: a film has more than 0 and at most 1000 frames a second")
    if not any(file.suffix in sources.FIELDS for file in files):
        for flag, value in (("--field", options.field), ("--slice", options.slice), ("--range", options.range)):
            if value is not None:
                raise UsageError(f"{flag} is for fields, but none of the files has one")
    if output is None and options.html is None:
        output = files[0].with_name(files[0].stem + "-plot.png")
    if output is not None and is_film:
        frames = sources.save_film(files, output, **chosen, frames_per_second=frames_per_second)
        print(f"{output}: {frames} frames")
        if options.html is None:
            return
        output = None
    found = sources.read(files, **chosen)
    if output is not None:
        sources.save(sources.panels_of_all(found), output)
        print(output)
    if options.html is not None:
        page.save(found, options.html)
        print(options.html)


def _joined(words: Sequence[str]) -> Sequence[str]:
    """Joins --range and its value, which may begin with a minus."""
    joined: list[str] = []
    for word in words:
        if joined and joined[-1] == "--range":
            joined[-1] += "=" + word
        else:
            joined.append(word)
    return joined
