# SPDX-License-Identifier: Apache-2.0
"""Fields as pictures show them: read from files or arrays, sliced and sampled."""

from __future__ import annotations

import dataclasses
import pathlib
import xml.etree.ElementTree as xml
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from halocline import _arrays
from halocline.errors import UnavailableError, UsageError

#: The most samples along an axis of a picture.
MOST_SAMPLES = 1024
#: A scale with both signs, neither end more than so many times the other, is drawn in diverging colours about 0: as
#: the pictures of `halocline solve --output FILE.png` (src/solve/files/colour_map.hpp).
MOST_UNEVEN = 4


@dataclasses.dataclass(frozen=True)
class Space:
    """The cells of a field, along the axes in the order of an array's."""

    cells: tuple[int, ...]
    lower: tuple[float, ...] | None = None  #: where the domain begins; None: axes count cells
    spacing: tuple[float, ...] | None = None  #: the size of a cell

    @property
    def names(self) -> str:
        return "zyx"[3 - len(self.cells) :]

    def ends(self, axis: int) -> tuple[float, float]:
        if self.lower is None or self.spacing is None:
            return 0.0, float(self.cells[axis])
        return self.lower[axis], self.lower[axis] + self.spacing[axis] * self.cells[axis]

    def middle(self, axis: int, cell: int) -> float | None:
        """Returns the coordinate of a cell's middle, if there are coordinates."""
        if self.lower is None or self.spacing is None:
            return None
        return self.lower[axis] + (cell + 0.5) * self.spacing[axis]


@dataclasses.dataclass(frozen=True)
class Sampling:
    """Which cells a picture shows: of three axes a slice, of many cells every n-th along each axis."""

    space: Space
    slices: tuple[slice, ...]
    sliced: int | None  #: axis

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(range(one.start, one.stop, one.step)) for one in self.slices)

    @property
    def axes(self) -> list[int]:
        return [axis for axis in range(len(self.slices)) if axis != self.sliced]

    def where(self) -> str:
        """Says which slice it is, as "z = 0.25": coordinates where there are some, or the cell."""
        if self.sliced is None:
            return ""
        cell = self.slices[self.sliced].start
        middle = self.space.middle(self.sliced, cell)
        return f"{self.space.names[self.sliced]} = " + (f"{middle:.6g}" if middle is not None else f"cell {cell}")

    def local(self, owned: Sequence[slice]) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
        """Returns a part's samples, as slices of the part's array and of the picture's."""
        of_part, of_picture = [], []
        for one, own in zip(self.slices, owned):
            skipped = max(0, -(-(own.start - one.start) // one.step))
            first, end = one.start + skipped * one.step, min(one.stop, own.stop)
            count = len(range(first, end, one.step))
            # A stop before the start would count from the end.
            of_part.append(slice(first - own.start, max(end, first) - own.start, one.step))
            of_picture.append(slice(skipped, skipped + count))
        return tuple(of_part), tuple(of_picture)


def sampling(space: Space, at: Mapping[str, int] | None = None) -> Sampling:
    """Chooses what a picture shows: `at` is {"z": 12}, the axis to cut of three, and the cell; by default the middle
    one along z."""
    if at is not None and not (isinstance(at, Mapping) and all(hasattr(cell, "__index__") for cell in at.values())):
        raise UsageError(f"a slice is an axis and a cell, as {{'z': 12}}, not {at!r}")
    several = dict(at or {})
    if several and len(space.cells) < 3:
        raise UsageError(f"a field of {len(space.cells)} axes is drawn whole, not as a slice")
    if len(space.cells) == 3 and not several:
        several = {"z": space.cells[0] // 2}
    if len(several) > 1:
        raise UsageError(f"a slice cuts one axis, not {len(several)}: {', '.join(several)}")
    sliced = None
    for name, cell in several.items():
        if name not in space.names:
            raise UsageError(f"there is no axis '{name}'; the axes are {', '.join(reversed(space.names))}")
        sliced = space.names.index(name)
        if not 0 <= cell < space.cells[sliced]:
            raise UsageError(f"slice {name}={cell}: the cells along {name} are 0 to {space.cells[sliced] - 1}")
    longest = max(count for axis, count in enumerate(space.cells) if axis != sliced)
    step = -(-longest // MOST_SAMPLES)
    slices = tuple(
        slice(several[space.names[axis]], several[space.names[axis]] + 1, 1)
        if axis == sliced
        else slice(min(step // 2, count - 1), count, step)
        for axis, count in enumerate(space.cells)
    )
    return Sampling(space, slices, sliced)


def on_host(array: Any) -> Any:
    """Returns an array of NumPy's of the values."""
    import numpy

    library = _arrays.library_of(array)
    if library == "cupy":
        return array.get()
    if library == "torch":
        return array.detach().cpu().numpy()
    return numpy.asarray(array)


@dataclasses.dataclass(frozen=True)
class Plane:
    """The samples of a field that a picture shows."""

    name: str
    values: Any  #: along sampling.axes
    sampling: Sampling
    when: str = ""  #: "t = 0.5", "100 sweeps"

    def title(self) -> str:
        return ", ".join(part for part in (self.name, self.when, self.sampling.where()) if part)


def plane_of(name: str, samples: Any, shown: Sampling, when: str = "") -> Plane:
    """Takes samples along all axes, a slice's among them."""
    return Plane(name, samples.reshape([shown.shape[axis] for axis in shown.axes]), shown, when)


@dataclasses.dataclass(frozen=True)
class Stored:
    """A field in a file."""

    name: str
    space: Space
    values: Any  #: an array that is read where it is indexed
    when: str = ""

    def plane(self, at: Mapping[str, int] | None) -> Plane:
        """Reads what a picture shows."""
        import numpy

        shown = sampling(self.space, at)
        return plane_of(self.name, numpy.asarray(self.values[shown.slices]), shown, self.when)


def without_number(stem: str) -> tuple[str, str]:
    """Returns "u" and "100 sweeps" of "u-000100", as the command numbers the files of a film."""
    name, _, number = stem.rpartition("-")
    return (name, f"{int(number)} sweeps") if name and len(number) >= 6 and number.isdigit() else (stem, "")


def read_fields(path: pathlib.Path) -> list[Stored]:
    """Returns the fields of a file, each once for each of its times. UsageError for a file that is none."""
    readers = {".npy": _npy, ".vti": _vti, ".pvd": _pvd, ".vtkhdf": _vtkhdf}
    try:
        return list(readers[path.suffix](path))
    except (ValueError, KeyError, AttributeError, xml.ParseError, OSError) as error:
        raise UsageError(f"'{path}' is no {path.suffix} file of fields: {error}") from error


def _npy(path: pathlib.Path) -> Iterator[Stored]:
    import numpy

    values = numpy.load(path, mmap_mode="r")
    if not values.size or not 1 <= values.ndim <= 3 or values.dtype.kind not in "fiub":
        raise ValueError(
            f"an array of shape {values.shape} and type {values.dtype}; a field has 1 to 3 axes, of numbers"
        )
    # Halocline writes three axes always, and those that a problem lacks come first.
    while values.ndim > 1 and values.shape[0] == 1:
        values = values[0]
    name, when = without_number(path.stem)
    yield Stored(name, Space(values.shape), values, when)


def _space(extent: Sequence[int], lower: Sequence[float], spacing: Sequence[float]) -> Space:
    """Makes the space of VTK's numbers, which are x first and have no cells along axes that there are not."""
    cells = [int(extent[2 * axis + 1] - extent[2 * axis]) for axis in range(3)]
    axes = max((axis + 1 for axis in range(3) if cells[axis] > 0), default=1)
    return Space(
        tuple(reversed(cells[:axes])),
        tuple(float(one) for one in reversed(list(lower)[:axes])),
        tuple(float(one) for one in reversed(list(spacing)[:axes])),
    )


def _vti(path: pathlib.Path, when: str = "") -> Iterator[Stored]:
    import numpy

    begin_of_data = b'<AppendedData encoding="raw">'
    with path.open("rb") as file:
        head = file.read(1 << 20)
    end = head.find(begin_of_data)
    if end < 0:
        raise ValueError("its arrays are not appended as raw bytes, as Halocline writes them")
    first = head.index(b"_", end + len(begin_of_data)) + 1
    root = xml.fromstring(head[:end].decode() + "</VTKFile>")
    image = root.find("ImageData")
    if image is None:
        raise ValueError("it has no image")
    extent = [int(one) for one in image.attrib["WholeExtent"].split()]
    lower, spacing = ([float(one) for one in image.attrib[key].split()] for key in ("Origin", "Spacing"))
    space = _space(extent, lower, spacing)
    for array in image.iter("DataArray"):
        kind = {"Float32": "<f4", "Float64": "<f8"}[array.attrib["type"]]
        place = first + int(array.attrib["offset"]) + 8  # after its length
        values: Any = numpy.memmap(path, kind, "r", place, space.cells)
        yield Stored(array.attrib["Name"], space, values, when or without_number(path.stem)[1])


def _pvd(path: pathlib.Path) -> Iterator[Stored]:
    for one in xml.parse(path).iter("DataSet"):
        yield from _vti(path.parent / one.attrib["file"], f"t = {float(one.attrib['timestep']):.6g}")


def _vtkhdf(path: pathlib.Path) -> Iterator[Stored]:
    try:
        import h5py
    except ImportError as error:
        raise UnavailableError("reading .vtkhdf files takes h5py: pip install 'halocline[plot]'") from error
    image = h5py.File(path, "r")["VTKHDF"]
    space = _space(image.attrs["WholeExtent"], image.attrs["Origin"], image.attrs["Spacing"])
    if "Steps" not in image:
        for name, values in image["CellData"].items():
            yield Stored(name, space, values)
        return
    steps = image["Steps"]
    for number in range(int(steps.attrs["NSteps"])):
        for name, values in image["CellData"].items():
            yield Stored(name, space, _OfTime(values, number), f"t = {steps['Values'][number]:.6g}")


@dataclasses.dataclass(frozen=True)
class _OfTime:
    """One of the times of a dataset."""

    values: Any
    number: int

    def __getitem__(self, slices: tuple[slice, ...]) -> Any:
        return self.values[(self.number, *slices)]
