# SPDX-License-Identifier: Apache-2.0
"""Pictures as panels, which matplotlib draws."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Callable, Sequence
from typing import Any

from halocline.errors import UnavailableError, UsageError


@dataclasses.dataclass(frozen=True)
class Panel:
    """A part of a picture."""

    title: str
    draw: Callable[[Any], None]  #: into an Axes of matplotlib
    height: float = 4.8  #: inches


def matplotlib() -> Any:
    """Returns matplotlib. UnavailableError without."""
    try:
        import matplotlib as library
    except ImportError as error:
        raise UnavailableError("plots take matplotlib: pip install 'halocline[plot]'") from error
    return library


#: Inches.
WIDTH = 6.4


def figure_of(panels: Sequence[Panel]) -> Any:
    """Returns a Figure of all panels, side by side. UsageError without panels."""
    if not panels:
        raise UsageError("there is nothing to draw")
    from matplotlib.figure import Figure

    columns = min(len(panels), 3 if len(panels) > 4 else 2)
    heights = [max(panel.height for panel in panels[i : i + columns]) for i in range(0, len(panels), columns)]
    figure = Figure(figsize=(WIDTH * columns, sum(heights)), layout="constrained")
    places = figure.add_gridspec(len(heights), columns, height_ratios=heights)
    for number, panel in enumerate(panels):
        axes = figure.add_subplot(places[divmod(number, columns)])
        axes.set_title(panel.title)
        panel.draw(axes)
    # Notebooks know figures only once pyplot has been imported.
    figure._repr_png_ = lambda: _png_of(figure)
    return figure


def _png_of(figure: Any) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=72)  # as notebooks draw theirs
    return file.getvalue()


def colour_bar(axes: Any, image: Any) -> None:
    """Draws a bar as high as the picture, which is not as high as its part of the figure."""
    axes.figure.colorbar(image, cax=axes.inset_axes((1.03, 0, 0.04, 1)))
