# SPDX-License-Identifier: Apache-2.0
"""A global box of cells, split over ranks."""

from __future__ import annotations

import contextlib
import ctypes
import operator
from collections.abc import Iterable, Sequence
from typing import Any

from halocline import _arrays, _c, _mpi
from halocline.errors import UsageError

Sides = tuple[tuple[int, int], ...]
Slices = tuple[slice, ...]


def _whole(number: Any, what: str) -> int:
    try:
        return operator.index(number)
    except TypeError:
        raise UsageError(f"{what} {number!r} is no whole number") from None


def sides_of(width: int | Sequence[int | Sequence[int]], axes: int, what: str) -> Sides:
    """Returns the widths before and after the cells along each axis, from one number for all, one for each axis,
    or two."""
    each = list(width) if isinstance(width, Iterable) else [width] * axes
    if len(each) != axes:
        raise UsageError(f"{what} {width} has {len(each)} entries for {axes} axes; along one they are (before, after)")
    sides = []
    for one in each:
        pair = [_whole(number, what) for number in (one if isinstance(one, Iterable) else (one, one))]
        if len(pair) != 2 or min(pair) < 0:
            raise UsageError(f"{what} {width}: each entry is a width, or one before and one after; not negative")
        sides.append((pair[0], pair[1]))
    return tuple(sides)


def widths_of(sides: Sides) -> _c.Widths:
    widths = _c.Widths()
    for axis, (before, after) in enumerate(reversed(sides)):
        widths.lower[axis], widths.upper[axis] = before, after
    return widths


class Grid:
    """`cells` of the whole domain along one to three axes, in the order of your arrays' axes, split over the ranks of
    a communicator.

    periodic: whether the domain wraps around, for all axes or each. halo: the cells around a rank's own that its
    arrays hold, for all axes, each, or each side of each as (before, after). process_grid: parts along each axis; by
    default a split with little halo traffic. comm: a communicator of mpi4py's; the world by default.
    wait_limit: seconds after which a wait for another rank is a CommunicationError; 0: none.

    Collective. UsageError if a part would be empty. Closed by close(), `with`, or when nothing uses it any more.
    """

    def __init__(
        self,
        cells: int | Sequence[int],
        *,
        periodic: bool | Sequence[bool] = False,
        halo: int | Sequence[int | Sequence[int]] = 1,
        process_grid: Sequence[int] | None = None,
        comm: Any = None,
        wait_limit: float = 120.0,
    ) -> None:
        self.cells: tuple[int, ...] = tuple(
            _whole(n, "cells") for n in (cells if isinstance(cells, Iterable) else (cells,))
        )
        axes = len(self.cells)
        if not 1 <= axes <= 3:
            raise UsageError(f"a grid has one to three axes, not {axes}: {self.cells}")
        if isinstance(periodic, str):
            raise UsageError(f"periodic takes True or False, for all axes or each, not {periodic!r}")
        wraps = [periodic] * axes if isinstance(periodic, bool) else list(periodic)
        if len(wraps) != axes:
            raise UsageError(f"periodic {periodic} has {len(wraps)} entries for {axes} axes")
        self.periodic: tuple[bool, ...] = tuple(bool(one) for one in wraps)
        self.halo: Sides = sides_of(halo, axes, "halo")
        if process_grid is not None and len(process_grid) != axes:
            raise UsageError(f"process_grid {tuple(process_grid)} has {len(process_grid)} entries for {axes} axes")

        expected = widths_of(self.halo)
        options = _c.GridOptions(wait_limit=wait_limit, expected_widths=ctypes.pointer(expected))
        for axis in range(axes):
            options.cells[axis] = self.cells[axes - 1 - axis]
            options.periodic[axis] = self.periodic[axes - 1 - axis]
            parts = 0 if process_grid is None else process_grid[axes - 1 - axis]
            options.process_grid[axis] = _whole(parts, "process_grid")
        comm = _mpi.communicator(comm)
        self._handle = _c.Handle()
        _mpi.meet(comm, wait_limit)
        _c.interface().grid_create(comm.py2f(), options, self._handle)
        self._comm = comm  # whose duplicate grids share lives as long as it does
        _mpi.end_all_ranks_on_errors(comm)

        info = _c.GridInfo()
        _c.interface().grid_get_info(self._handle, info)
        self.rank: int = info.rank
        self.ranks: int = info.ranks
        self.process_grid: tuple[int, ...] = tuple(info.process_grid[: info.axes])[::-1]
        #: This rank's cells, as slices of the whole domain.
        self.owned: Slices = self._slices(info.owned)
        #: The shape of this rank's arrays, halo included.
        self.shape: tuple[int, ...] = tuple(
            own.stop - own.start + before + after for own, (before, after) in zip(self.owned, self.halo)
        )
        #: This rank's cells, as slices of its arrays.
        self.inner: Slices = self._local(self.owned)

    def _slices(self, box: _c.Box) -> Slices:
        axes = len(self.cells)
        return tuple(slice(box.lower[a], box.upper[a]) for a in reversed(range(axes)))

    def _local(self, box: Slices) -> Slices:
        shifts = [before - own.start for own, (before, _) in zip(self.owned, self.halo)]
        return tuple(slice(one.start + shift, one.stop + shift) for one, shift in zip(box, shifts))

    def interior(self, reach: int | Sequence[int | Sequence[int]] | None = None) -> Slices:
        """Returns the cells that can be updated before the halo arrives, as slices of this rank's arrays: all that
        they read, up to `reach` cells away (by default the halo's width), is here already."""
        box = _c.Box()
        _c.interface().grid_interior(self._handle, self._reach(reach), box)
        return self._local(self._slices(box))

    def boundary(self, reach: int | Sequence[int | Sequence[int]] | None = None) -> list[Slices]:
        """Returns the other cells of this rank, as disjoint boxes of slices, to update after the halo arrived."""
        boxes, count = (_c.Box * 6)(), ctypes.c_int()
        _c.interface().grid_boundary(self._handle, self._reach(reach), boxes, count)
        return [self._local(self._slices(box)) for box in boxes[: count.value]]

    def _reach(self, reach: int | Sequence[int | Sequence[int]] | None) -> _c.Widths | None:
        return None if reach is None else widths_of(sides_of(reach, len(self.cells), "reach"))

    def _field(self, name: str, address: int, layout: _arrays.Layout, halo: Sides) -> _c.Handle:
        """Returns an array as a field of the C interface, which the caller destroys."""
        item = layout.element_bytes
        if any(stride % item for stride in layout.strides):
            raise UsageError(f"{name} has strides of {layout.strides} bytes, which are no multiples of {item}")
        options = _c.FieldOptions(
            name=name.encode(),
            element_bytes=item,
            components=1,
            halo=widths_of(halo),
            memory=b"auto" if layout.on_gpu else b"host",
        )
        for axis, (extent, stride) in enumerate(zip(reversed(layout.shape), reversed(layout.strides))):
            options.extents[axis], options.strides[axis] = extent, stride // item
        field = _c.Handle()
        _c.interface().field_wrap(self._handle, address, options, field)
        return field

    def zeros(self, dtype: Any = "float64", like: Any = "numpy") -> Any:
        """Returns an array of this rank's part, halo included, all zero: of NumPy, CuPy or PyTorch, as `like` names
        ("numpy", "cupy", "torch", "torch:cpu") or is. In GPU memory each row's first owned cell is at a multiple of
        128 bytes, so there are gaps between rows. The caller owns it."""
        return _arrays.zeros(self.shape, self.halo[-1][0], dtype, like)

    def fields(self, count: int, dtype: Any = "float64", like: Any = "numpy") -> list[Any]:
        """Returns `count` arrays as zeros() makes them."""
        return [self.zeros(dtype, like) for _ in range(count)]

    def close(self) -> None:
        """Frees the grid. Exchanges of it go on. Not collective."""
        if self._handle:
            _c.interface().grid_destroy(self._handle)

    def __enter__(self) -> Grid:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        with contextlib.suppress(UsageError):  # in a forked process, whose grid it is not
            if getattr(self, "_handle", None):
                self.close()

    def __repr__(self) -> str:
        cells = "x".join(str(n) for n in self.cells)
        parts = "x".join(str(n) for n in self.process_grid)
        return f"<halocline.Grid of {cells} cells, process grid {parts}, rank {self.rank} of {self.ranks}>"
