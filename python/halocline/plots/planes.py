# SPDX-License-Identifier: Apache-2.0
"""Panels of fields."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

from halocline.errors import UsageError
from halocline.plots.fields import MOST_UNEVEN, Plane, Space
from halocline.plots.panels import Panel, colour_bar, matplotlib


@dataclasses.dataclass(frozen=True)
class Scale:
    """The values at the ends of the colours."""

    least: float
    most: float

    @property
    def is_diverging(self) -> bool:
        return -self.least == self.most > 0


def scale_of(planes: Iterable[Plane], given: Sequence[float] | None = None) -> Scale:
    """Returns a scale for all: as given, or their finite values'. With values of both signs, neither end more than
    MOST_UNEVEN times the other, it is symmetric about 0."""
    import numpy

    if given is not None:
        try:
            least, most = map(float, given)
        except (TypeError, ValueError) as error:
            raise UsageError(f"a range is two numbers, as (0, 1), not {given!r}") from error
        if not least < most:
            raise UsageError(f"a range goes from the least to the largest value, not from {least:g} to {most:g}")
        return Scale(least, most)
    least, most = float("inf"), -float("inf")
    for plane in planes:  # of a film not all at once
        finite = plane.values[numpy.isfinite(plane.values)]
        if finite.size:
            least, most = min(least, float(finite.min())), max(most, float(finite.max()))
    if least > most:
        return Scale(0.0, 0.0)
    smaller, larger = sorted((-least, most))
    return Scale(-larger, larger) if smaller > 0 and larger <= MOST_UNEVEN * smaller else Scale(least, most)


def panel_of_plane(plane: Plane, scale: Scale) -> Panel:
    return Panel(
        plane.title(), lambda axes: (_draw_curve if plane.values.ndim == 1 else _draw_plane)(axes, plane, scale)
    )


def _axis_label(space: Space, axis: int) -> str:
    return space.names[axis] + ("" if space.spacing is not None else " (cells)")


def _draw_plane(axes: Any, plane: Plane, scale: Scale) -> None:
    import numpy

    space, (y, x) = plane.sampling.space, plane.sampling.axes
    (left, right), (low, high) = space.ends(x), space.ends(y)
    colours = matplotlib().colormaps["coolwarm" if scale.is_diverging else "viridis"].copy()
    colours.set_bad("black" if scale.is_diverging else "#e6194b")  # not finite; as in the command's pictures
    # True lengths, unless there would be next to nothing to see.
    ratio = (high - low) / (right - left)
    aspect = "equal" if 1 / 8 <= ratio <= 8 else "auto"
    values: Any = numpy.where(numpy.isfinite(plane.values), plane.values, numpy.nan)  # also of infinities
    extent = (left, right, low, high)
    image = axes.imshow(
        values, colours, aspect=aspect, origin="lower", extent=extent, vmin=scale.least, vmax=scale.most,
        interpolation="nearest",
    )  # fmt: skip
    axes.set_xlabel(_axis_label(space, x))
    axes.set_ylabel(_axis_label(space, y))
    if numpy.isfinite(values).any():
        colour_bar(axes, image)


def _draw_curve(axes: Any, plane: Plane, scale: Scale) -> None:
    import numpy

    space, (axis,) = plane.sampling.space, plane.sampling.axes
    lower, upper = space.ends(axis)
    cells = numpy.arange(space.cells[axis])[plane.sampling.slices[axis]]
    axes.plot(lower + (cells + 0.5) * (upper - lower) / space.cells[axis], plane.values)
    axes.set_xlim(lower, upper)
    if scale.most > scale.least:
        room = 0.04 * (scale.most - scale.least)
        axes.set_ylim(scale.least - room, scale.most + room)
    axes.set_xlabel(_axis_label(space, axis))
    axes.set_ylabel(plane.name)
    axes.grid(alpha=0.3)
