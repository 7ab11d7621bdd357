# SPDX-License-Identifier: Apache-2.0
"""What a solve returns."""

from __future__ import annotations

import html
import os
import pathlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from halocline.errors import UnavailableError, UsageError
from halocline.plots.fields import Plane, Space, on_host, plane_of, sampling
from halocline.plots.panels import Panel


class Result(Mapping[str, Any]):
    """The arrays of a solve by the names of fields, of this rank's part, and its report: the same on every rank."""

    def __init__(
        self,
        text: str,
        report: dict[str, Any],
        arrays: dict[str, Any],
        inner: dict[str, Any],
        owned: tuple[slice, ...],
        problem: dict[str, Any],
        comm: Any = None,
    ) -> None:
        self._text = text
        #: The report of `halocline solve --json`, as docs/report.md lists it: sizes there are x first.
        self.report: dict[str, Any] = report
        self._arrays = arrays
        self._inner = inner  # without a halo
        #: This rank's cells, as slices of the whole domain.
        self.owned = owned
        #: What was solved, as check() returns it.
        self.problem: dict[str, Any] = problem
        self._comm = comm  # whose ranks have the other parts

    @property
    def sweeps(self) -> int:
        """Sweeps done, those of an earlier run among them."""
        return int(self.report["sweeps"])

    @property
    def converged(self) -> bool:
        """Whether the norm met the tolerance."""
        return bool(self.report["converged"])

    @property
    def checksum(self) -> int:
        """Of the first field: the same bits have the same one, however the cells are split."""
        return int(self.report["checksum"], 16)

    @property
    def seconds(self) -> dict[str, float]:
        """Of the set-up, the first sweep, the others ("loop"), and in all."""
        return dict(self.report["seconds"])

    @property
    def glups(self) -> float:
        """Thousand million updates a second, of all ranks."""
        return float(self.report["glups"])

    @property
    def norms(self) -> Any:
        """An array of (sweep, norm)."""
        import numpy

        return numpy.array(self.report["norm_history"], dtype=float).reshape(-1, 2)

    @property
    def series(self) -> dict[str, Any]:
        """Arrays of the sums and probes over time by their names, and "sweep"; empty without any."""
        import numpy

        series = self.report["series"]
        if series is None:
            return {}
        columns = numpy.array(series["rows"], dtype=float).reshape(-1, 1 + len(series["names"])).T
        return {"sweep": columns[0].astype(int), **dict(zip(series["names"], columns[1:]))}

    def coordinates(self) -> tuple[Any, ...]:
        """Returns the coordinates of this rank's cells along each axis, in the order of the arrays'."""
        import numpy

        ends = zip(self.owned, self.problem["lower"], self.problem["spacing"])
        return tuple(lower + (numpy.arange(own.start, own.stop) + 0.5) * spacing for own, lower, spacing in ends)

    def plot(
        self,
        field: str | None = None,
        *,
        at: Mapping[str, int] | None = None,
        range: Sequence[float] | None = None,
    ) -> Any:
        """Draws the fields of the whole domain, norms, sums and probes, phases of the ranks, or only `field`: returns a
        Figure of matplotlib's, which notebooks show and `savefig` writes. at: of three axes the one to cut, and its
        cell, as {"z": 12}; by default the middle one along z. range: the values at the ends of the colours.
        Collective: on ranks but the first it returns None. UnavailableError without matplotlib."""
        from halocline.plots import panels

        drawn = self._panels(field, at, range)
        return panels.figure_of(drawn) if self._is_first else None

    def save_page(self, path: str | os.PathLike[str]) -> None:
        """Writes what plot() draws and all values as one HTML page, on rank 0. Collective. UnavailableError without
        matplotlib, ResourceError where it cannot be written."""
        from halocline.plots import page, sources

        drawn = self._panels(None, None, None)
        if self._is_first:
            page.save([sources.Source(self.report["problem"], drawn, self.report)], pathlib.Path(path))

    @property
    def _is_first(self) -> bool:
        return self._comm is None or self._comm.Get_rank() == 0

    def _panels(self, field: str | None, at: Mapping[str, int] | None, range: Sequence[float] | None) -> list[Panel]:
        """Returns what to draw, on rank 0."""
        from halocline.plots import panels, planes, reports

        panels.matplotlib()
        if field is not None and field not in self._inner:
            raise UsageError(f"there is no field '{field}'; there are: {', '.join(self._inner)}")
        parts = [self._plane(name, at) for name in (self._inner if field is None else [field])]
        if not self._is_first:
            return []
        drawn = [planes.panel_of_plane(one, planes.scale_of([one], range)) for one in parts]
        return drawn if field is not None else drawn + reports.panels_of(self.report)

    def _plane(self, field: str, at: Mapping[str, int] | None) -> Plane:
        """Gathers the samples of all ranks on the first one."""
        import numpy

        problem = self.problem
        shown = sampling(Space(problem["cells"], problem["lower"], problem["spacing"]), at)
        of_part, place = shown.local(self.owned)
        mine = on_host(self._inner[field][of_part])
        parts = [(place, mine)] if self._comm is None else self._comm.gather((place, mine)) or []
        picture = numpy.empty(shown.shape, mine.dtype)
        for place, values in parts:
            picture[place] = values
        time = self.report["time"]
        when = f"t = {time:.6g}" if time is not None else f"{self.sweeps} sweeps"
        return plane_of(field, picture, shown, when)

    def to_xarray(self) -> Any:
        """Returns a Dataset of xarray's of this rank's part, with coordinates."""
        try:
            import xarray
        except ImportError as error:
            raise UnavailableError("to_xarray() takes xarray: pip install xarray") from error
        names = "zyx"[3 - len(self.owned) :]
        return xarray.Dataset(
            {name: (tuple(names), array) for name, array in self._inner.items()},
            coords=dict(zip(names, self.coordinates())),
            attrs={"problem": self.report["problem"], "sweeps": self.sweeps},
        )

    def __getitem__(self, field: str) -> Any:
        return self._arrays[field]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def __str__(self) -> str:
        return self._text.rstrip("\n")

    def __repr__(self) -> str:
        ended = ", converged" if self.converged else ", diverged" if self.report["not_finite"] else ""
        return f"<halocline.Result of {self.report['problem']}, {self.sweeps} sweeps{ended}>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"
