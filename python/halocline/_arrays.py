# SPDX-License-Identifier: Apache-2.0
"""Arrays of other libraries: where their values are and how they lie, without a copy."""

from __future__ import annotations

import dataclasses
import importlib
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

from halocline import _c
from halocline.errors import UnavailableError, UsageError


@dataclasses.dataclass(frozen=True)
class Layout:
    """All of an array but its address."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]  #: in bytes, along the axes
    type: str  #: as in NumPy's array interface: "<f4"
    on_gpu: bool

    @property
    def element_bytes(self) -> int:
        return int(re.findall(r"\d+", self.type)[0])

    def __str__(self) -> str:
        where = "GPU" if self.on_gpu else "host"
        return f"shape {self.shape}, strides {self.strides} bytes, type {self.type}, {where} memory"


def _packed(shape: Sequence[int], item: int) -> tuple[int, ...]:
    strides, step = [], item
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


def described(array: Any, name: str = "array") -> tuple[int, Layout]:
    """Returns the address of an array's first element, and its layout. Takes what has CUDA's or NumPy's array
    interface, tensors of PyTorch, and what NumPy reads by DLPack. UsageError for others, and for read-only ones."""
    if type(array).__module__.partition(".")[0] in ("jax", "jaxlib"):
        raise UsageError(
            f"{name} is an array of JAX, which nothing may write into; halocline.jax.exchange returns new ones"
        )
    facts, on_gpu = getattr(array, "__cuda_array_interface__", None), True
    if facts is None:
        facts, on_gpu = getattr(array, "__array_interface__", None), False
    if facts is None:
        facts = _by_dlpack(array, name).__array_interface__
    address, is_read_only = facts["data"]
    if is_read_only:
        raise UsageError(f"{name} is read-only; halos are written into it")
    shape, kind = tuple(facts["shape"]), facts["typestr"]
    size = re.match(r"[<>|=][a-zA-Z](\d+)", kind)
    if size is None:
        raise UsageError(f"{name} has type {kind}: only values of a number of bytes can be exchanged")
    strides = facts.get("strides") or _packed(shape, int(size[1]))
    if any(stride == 0 and extent > 1 for extent, stride in zip(shape, strides)):
        raise UsageError(f"{name} has shape {shape} and strides {strides}: cells that are one place in memory")
    return address, Layout(shape, tuple(strides), kind, on_gpu)


def _by_dlpack(array: Any, name: str) -> Any:
    import numpy

    if library_of(array) == "torch":
        if array.requires_grad:
            raise UsageError(f"{name} requires a gradient, which an exchange does not pass on; give array.detach()")
        return array.numpy()
    try:
        return numpy.from_dlpack(array)
    except (AttributeError, TypeError, BufferError, RuntimeError) as error:
        raise UsageError(
            f"{name} is a {type(array).__name__}, which is no array in host or GPU memory that can be shared: {error}"
        ) from error


def library_of(array: Any) -> str:
    return type(array).__module__.partition(".")[0]


def address_reader(array: Any, address: int) -> Callable[[Any], int]:
    """Returns what reads the address of this array, which is at `address` now, at each call; faster than described()
    for the usual libraries. The caller refers to the array weakly, which keeps NumPy's resize() from moving it."""
    library = library_of(array)
    if library == "numpy":
        return lambda _: address
    if library == "cupy":
        return lambda one: one.data.ptr
    if library == "torch":
        return lambda one: one.data_ptr()
    return lambda one: described(one)[0]


def stream_reader(array: Any, on_gpu: bool) -> Callable[[], int]:
    """Returns what finds the stream that work on an array is queued on: the host's for host memory, or the current
    one of the array's library. Theirs call CUDA's default stream 0, which is our host's."""
    if not on_gpu:
        return lambda: _c.HOST_STREAM
    library = library_of(array)
    module = sys.modules.get(library)
    if library == "cupy" and module is not None:
        current = module.cuda.get_current_stream
        return lambda: current().ptr or _c.CUDA_DEFAULT_STREAM
    if library == "torch" and module is not None:
        # 0.1 us, where torch.cuda.current_stream() takes 7. Compiled graphs of PyTorch call it, too.
        raw, device = getattr(module._C, "_cuda_getCurrentRawStream", None), array.device
        if raw is not None:
            return lambda: raw(device.index) or _c.CUDA_DEFAULT_STREAM
        return lambda: module.cuda.current_stream(device).cuda_stream or _c.CUDA_DEFAULT_STREAM

    def unknown() -> int:
        kind = type(array).__name__
        raise UsageError(f"which stream is meant for a {kind}? Give stream=; 0 is CUDA's default stream")

    return unknown


def number_of(stream: Any, on_gpu: bool) -> int:
    """Returns a stream of any library as the C interface takes it."""
    if not on_gpu:
        raise UsageError("a stream is for arrays in GPU memory; these are in host memory")
    for attribute in ("ptr", "cuda_stream", "handle"):
        number = getattr(stream, attribute, None)
        if number is not None:
            return int(number) or _c.CUDA_DEFAULT_STREAM
    by_protocol = getattr(stream, "__cuda_stream__", None)
    if by_protocol is not None:
        stream = (by_protocol() if callable(by_protocol) else by_protocol)[1]
    return int(stream) or _c.CUDA_DEFAULT_STREAM


def finish_work_on(array: Any) -> None:
    """Waits for what is queued on the current stream of an array's library."""
    library = library_of(array)
    module = sys.modules.get(library)
    if library == "cupy" and module is not None:
        module.cuda.get_current_stream().synchronize()
    elif library == "torch" and module is not None:
        module.cuda.current_stream(array.device).synchronize()


def zeros(shape: tuple[int, ...], halo_before: int, dtype: Any, like: Any) -> Any:
    """Returns an array of zeros of the library of `like`: its name, its module, or an array of it. In GPU memory rows
    have gaps between them, so that the first owned cell of each is at a multiple of 128 bytes."""
    name = like if isinstance(like, str) else getattr(like, "__name__", type(like).__module__)
    library, _, device = name.partition(":")
    library = library.partition(".")[0]
    if library == "numpy":
        import numpy

        return numpy.zeros(shape, dtype)
    if library == "cupy":
        return _zeros_of_cupy(shape, halo_before, dtype)
    if library == "torch":
        return _zeros_of_torch(shape, halo_before, dtype, getattr(like, "device", device or "cuda"))
    if library in ("jax", "jaxlib"):
        raise UsageError("arrays of JAX are made by JAX: jax.numpy.zeros(grid.shape, dtype)")
    raise UsageError(f"arrays of '{name}' cannot be made; like= takes 'numpy', 'cupy', 'torch' or an array of these")


_ALIGNMENT = 128


def _padded(row: int, halo_before: int, item: int) -> tuple[int, int]:
    """Returns the elements before a row's first, and from a row to the next. Allocators of GPU memory align what they
    return to 256 bytes or more."""
    if _ALIGNMENT % item != 0:
        return 0, row
    of_line = _ALIGNMENT // item
    lead = -halo_before % of_line
    return lead, (row + of_line - 1) // of_line * of_line


def _elements(shape: tuple[int, ...], pitch: int, lead: int) -> int:
    rows = 1
    for extent in shape[:-1]:
        rows *= extent
    return rows * pitch + lead


def _module(library: str) -> Any:
    try:
        return importlib.import_module(library)
    except ImportError as error:
        raise UnavailableError(f"arrays like '{library}' take {library}, which cannot be imported: {error}") from error


def _zeros_of_cupy(shape: tuple[int, ...], halo_before: int, dtype: Any) -> Any:
    cupy = _module("cupy")
    item = cupy.dtype(dtype).itemsize
    lead, pitch = _padded(shape[-1], halo_before, item)
    flat = cupy.zeros(_elements(shape, pitch, lead), dtype)
    strides = _packed((*shape[:-1], pitch), item)
    return cupy.lib.stride_tricks.as_strided(flat[lead:], shape, strides)


def _zeros_of_torch(shape: tuple[int, ...], halo_before: int, dtype: Any, device: Any) -> Any:
    torch = _module("torch")
    kind = getattr(torch, dtype) if isinstance(dtype, str) else dtype
    device = torch.device(device)
    if device.type == "cpu":
        return torch.zeros(shape, dtype=kind)
    item = torch.empty(0, dtype=kind).element_size()
    lead, pitch = _padded(shape[-1], halo_before, item)
    flat = torch.zeros(_elements(shape, pitch, lead), dtype=kind, device=device)
    return flat.as_strided(shape, _packed((*shape[:-1], pitch), 1), lead)
