# SPDX-License-Identifier: Apache-2.0
"""Fills the halos of arrays."""

from __future__ import annotations

import contextlib
import ctypes
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from halocline import _arrays, _c
from halocline.errors import Error, UsageError
from halocline.grid import Grid, sides_of, widths_of

#: An array, and what reads its address and its library's current stream.
_Known = tuple[Callable[[], Any], Callable[[Any], int], Callable[[], int]]


class Exchange:
    """A plan to fill the halos of arrays like `like`: one array, or several, which then travel in one message. Made
    once, run many times, with these arrays or any others of the same shape, strides, type and kind of memory.

    Halo cells get the values of the cells that they image, on other ranks or, along periodic axes, on this one. Cells
    beyond an edge of the domain keep theirs. widths: of the halo to fill, as Grid's halo; by default all of it.
    neighbours: "all", or "faces": no edges and corners. transport: "auto", or a name ("peer", "mpi", ...).
    same_order: whether all ranks start all exchanges in the same order, as a loop over time steps does; NCCL needs it.

    Collective, as are start, finish and run. UsageError if the ranks' plans differ or an array does not fit the grid.
    Arrays are kept alive while an exchange may use them. Closed by close() or `with`, collectively in the same order
    on all ranks, or whenever nothing uses it any more.
    """

    def __init__(
        self,
        grid: Grid,
        like: Any,
        *,
        widths: int | Sequence[int | Sequence[int]] | None = None,
        neighbours: str = "all",
        transport: str = "auto",
        same_order: bool = True,
    ) -> None:
        self._handle = _c.Handle()
        self._planned: tuple[Any, ...] = tuple(like) if isinstance(like, (list, tuple)) else (like,)
        self._in_flight: tuple[Any, ...] = ()
        self._layouts: list[_arrays.Layout] = []
        # By their numbers: arrays that were found to be like the planned ones.
        self._known: list[dict[int, _Known]] = [{} for _ in self._planned]
        self._addresses = (ctypes.c_void_p * len(self._planned))()
        self._queue = ctypes.c_void_p()
        if not grid._handle:
            raise UsageError("the grid is closed")
        self._c = c = _c.interface()
        fields = (_c.Handle * len(self._planned))()
        try:
            for number, array in enumerate(self._planned):
                fields[number] = self._wrapped(grid, number, array)
            fill = None if widths is None else ctypes.pointer(widths_of(sides_of(widths, len(grid.cells), "widths")))
            options = _c.ExchangeOptions(
                neighbours=neighbours.encode(), widths=fill, transport=transport.encode(), same_order=same_order
            )
            c.exchange_create(grid._handle, fields, len(fields), options, self._handle)
        finally:
            for handle in fields:
                if handle:
                    c.field_destroy(_c.Handle(handle))
        self._run_at = c.exchange_run_at
        self._on_gpu = self._layouts[0].on_gpu
        #: Finds the stream of the arrays of the last call.
        self._current = _arrays.stream_reader(self._planned[0], self._on_gpu)

    def _wrapped(self, grid: Grid, number: int, array: Any) -> int:
        name = f"array {number}"
        address, layout = _arrays.described(array, name)
        if layout.shape != grid.shape:
            raise UsageError(
                f"{name} has shape {layout.shape}; this rank's part of the grid, with its halo, has {grid.shape}"
            )
        if layout.on_gpu != (self._layouts[0].on_gpu if self._layouts else layout.on_gpu):
            raise UsageError(f"{name} is in {'GPU' if layout.on_gpu else 'host'} memory, array 0 is not")
        field = grid._field(name, address, layout, grid.halo)
        self._layouts.append(layout)
        assert field.value is not None
        return field.value

    def _call(self, function: Callable[..., int], arrays: tuple[Any, ...], stream: Any) -> tuple[Any, ...]:
        """Calls a function of the C interface for these arrays, or the planned ones, and returns them."""
        taken = arrays or self._planned
        if len(taken) != len(self._planned):
            raise UsageError(
                f"{len(taken)} array(s) for an exchange of {len(self._planned)}; give each by itself, as run(u, v)"
            )
        for number, array in enumerate(taken):
            known = self._known[number].get(id(array))
            if known is None or known[0]() is not array:
                known = self._recognised(number, array)
            self._addresses[number] = known[1](array)
            if number == 0:
                self._current = known[2]
        self._queue.value = self._current() if stream is None else _arrays.number_of(stream, self._on_gpu)
        status = function(self._handle, self._addresses, len(taken), self._queue)
        if status:
            raise self._error(status)
        return taken

    def _error(self, status: int) -> Error:
        return self._c.error(status) if self._handle else UsageError("this exchange is closed")

    def _recognised(self, number: int, array: Any) -> _Known:
        address, layout = _arrays.described(array, f"array {number}")
        if layout != self._layouts[number]:
            raise UsageError(
                f"array {number} is unlike the planned one ({layout}; planned: {self._layouts[number]}); make "
                "them all by Grid.zeros(), or plan another exchange"
            )
        known, key = self._known[number], id(array)
        readers = _arrays.address_reader(array, address), _arrays.stream_reader(array, layout.on_gpu)
        try:
            known[key] = (weakref.ref(array, lambda _: known.pop(key, None)), *readers)
        except TypeError:  # cannot be referred to weakly: looked at in each call
            return (lambda: array, *readers)
        return known[key]

    def run(self, *arrays: Any, stream: Any = None) -> None:
        """Fills the halos of these arrays, by default of the planned ones. For arrays in GPU memory on `stream`, by
        default the current one of their library, and the host goes on."""
        if len(arrays) == 1 and stream is None:  # as in most loops: 0.3 us less than _call() takes
            known = self._known[0].get(id(arrays[0]))
            if known is not None and len(self._planned) == 1 and known[0]() is arrays[0]:
                _, address, self._current = known
                self._addresses[0] = address(arrays[0])
                self._queue.value = self._current()
                status = self._run_at(self._handle, self._addresses, 1, self._queue)
                if status:
                    raise self._error(status)
                return
        self._call(self._run_at, arrays, stream)

    def start(self, *arrays: Any, stream: Any = None) -> None:
        """Sends what the arrays' halos on other ranks need. Until finish() this rank may read, but not write, its
        cells next to others, and neither read nor write the halo."""
        self._in_flight = self._call(self._c.exchange_start_at, arrays, stream)

    def progress(self) -> bool:
        """Advances transports that need the host; returns whether finish() would not wait."""
        done = ctypes.c_int()
        self._c.exchange_progress(self._handle, done)
        return bool(done.value)

    def finish(self, stream: Any = None) -> None:
        """Fills the halos of start()'s arrays. Give both the same stream."""
        self._queue.value = self._current() if stream is None else _arrays.number_of(stream, self._on_gpu)
        status = self._c.exchange_finish(self._handle, self._queue)
        if status:
            raise self._error(status)
        self._in_flight = ()

    @contextlib.contextmanager
    def during(self, *arrays: Any, stream: Any = None) -> Iterator[None]:
        """start() before, finish() after what is below `with`: the update of Grid.interior()."""
        self.start(*arrays, stream=stream)
        try:
            yield
        finally:
            self.finish(stream)

    @property
    def info(self) -> dict[str, Any]:
        """What one exchange sends to other ranks ("messages", "bytes"), by which "transports", and for what
        "reasons"."""
        if not self._handle:
            raise UsageError("this exchange is closed")
        info = _c.ExchangeInfo()
        self._c.exchange_get_info(self._handle, info)
        transports = dict(pair.split("=") for pair in info.transports.decode().split(",") if pair)
        return {
            "messages": info.messages,
            "bytes": info.bytes,
            "transports": transports,
            "reasons": info.reasons.decode().splitlines(),
        }

    def close(self) -> None:
        """Waits for an exchange in flight and frees the plan. Collective, in the same order on all ranks."""
        if self._handle:
            self._c.exchange_destroy(self._handle)

    def __enter__(self) -> Exchange:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.close()

    def __del__(self) -> None:
        with contextlib.suppress(UsageError):  # in a forked process, whose exchange it is not
            if getattr(self, "_handle", None):
                self._c.exchange_park(self._handle)

    def __repr__(self) -> str:
        if not self._handle:
            return "<halocline.Exchange, closed>"
        facts = self.info
        ways = ", ".join(f"{pair} by {way}" for pair, way in facts["transports"].items()) or "none between ranks"
        return (
            f"<halocline.Exchange of {len(self._planned)} array(s): {facts['messages']} message(s), "
            f"{facts['bytes']} bytes a rank; {ways}>"
        )
