# SPDX-License-Identifier: Apache-2.0
"""The C interface, as <halocline/halocline.h> declares it: structures with its members in its order."""

from __future__ import annotations

import ctypes as c
import functools
import re
from typing import Any

from halocline import _library, errors

Handle = c.c_void_p
Int3 = c.c_int64 * 3
AS_EXPECTED = -(2**63 - 1)
HOST_STREAM, CUDA_DEFAULT_STREAM = 0, 1


class Box(c.Structure):
    _fields_ = [("lower", Int3), ("upper", Int3)]


class Widths(c.Structure):
    _fields_ = [("lower", Int3), ("upper", Int3)]


class _Sized(c.Structure):
    """A structure that begins with its size; all else is zero."""

    def __init__(self, **members: Any) -> None:
        super().__init__(struct_size=c.sizeof(type(self)), **members)


class GridOptions(_Sized):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("cells", Int3),
        ("periodic", c.c_int * 3),
        ("process_grid", Int3),
        ("expected_halo", c.c_int64),
        ("wait_limit", c.c_double),
        ("expected_widths", c.POINTER(Widths)),
    ]


class GridInfo(_Sized):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("rank", c.c_int),
        ("ranks", c.c_int),
        ("axes", c.c_int),
        ("cells", Int3),
        ("process_grid", Int3),
        ("place", Int3),
        ("owned", Box),
    ]


class FieldOptions(_Sized):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("name", c.c_char_p),
        ("element_bytes", c.c_int64),
        ("components", c.c_int64),
        ("halo", Widths),
        ("memory", c.c_char_p),
        ("extents", Int3),
        ("strides", Int3),
        ("component_stride", c.c_int64),
    ]


class ExchangeOptions(_Sized):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("neighbours", c.c_char_p),
        ("widths", c.POINTER(Widths)),
        ("transport", c.c_char_p),
        ("proofs", c.c_char_p),
        ("same_order", c.c_int),
    ]


class ExchangeInfo(_Sized):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("messages", c.c_int64),
        ("bytes", c.c_int64),
        ("transports", c.c_char_p),
        ("reasons", c.c_char_p),
    ]


class DeviceInfo(_Sized):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("ordinal", c.c_int),
        ("ranks_on_gpu", c.c_int),
        ("name", c.c_char * 96),
        ("uuid", c.c_char * 48),
    ]


class SolveArray(c.Structure):
    _fields_ = [("name", c.c_char_p), ("field", Handle), ("use", c.c_char_p)]


class Parameter(c.Structure):
    _fields_ = [("name", c.c_char_p), ("value", c.c_double)]


class Option(c.Structure):
    _fields_ = [("name", c.c_char_p), ("value", c.c_char_p)]


class Progress(c.Structure):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("sweep", c.c_int64),
        ("sweeps", c.c_int64),
        ("first", c.c_int64),
        ("norm", c.c_double),
        ("seconds", c.c_double),
        ("glups", c.c_double),
        ("saved", c.c_int64),
    ]


OnProgress = c.CFUNCTYPE(None, c.POINTER(Progress), c.c_void_p)
#: Its result is the address of a text that lives on: ctypes would lose that of bytes.
StopRequest = c.CFUNCTYPE(c.c_void_p, c.c_void_p)


class SolveOptions(_Sized):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("problem", c.c_char_p),
        ("text", c.c_char_p),
        ("arrays", c.POINTER(SolveArray)),
        ("array_count", c.c_int),
        ("parameters", c.POINTER(Parameter)),
        ("parameter_count", c.c_int),
        ("options", c.POINTER(Option)),
        ("option_count", c.c_int),
        ("report", c.c_char_p),
        ("json", c.c_char_p),
        ("on_progress", OnProgress),
        ("stop_request", StopRequest),
        ("user", c.c_void_p),
    ]


class SolveResult(_Sized):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("sweeps", c.c_int64),
        ("converged", c.c_int),
        ("diverged", c.c_int),
        ("norm", c.c_double),
        ("checksum", c.c_uint64),
        ("sum", c.c_double),
        ("setup_seconds", c.c_double),
        ("compile_seconds", c.c_double),
        ("first_sweep_seconds", c.c_double),
        ("loop_seconds", c.c_double),
        ("glups", c.c_double),
        ("report", c.c_char_p),
        ("json", c.c_char_p),
    ]


_PARAMETERS: dict[str, tuple[Any, ...]] = {
    "bind_device": (c.c_int, c.POINTER(DeviceInfo)),
    "grid_create": (c.c_int, c.POINTER(GridOptions), c.POINTER(Handle)),
    "grid_destroy": (c.POINTER(Handle),),
    "grid_get_info": (Handle, c.POINTER(GridInfo)),
    "grid_interior": (Handle, c.POINTER(Widths), c.POINTER(Box)),
    "grid_boundary": (Handle, c.POINTER(Widths), c.POINTER(Box), c.POINTER(c.c_int)),
    "field_wrap": (Handle, c.c_void_p, c.POINTER(FieldOptions), c.POINTER(Handle)),
    "field_destroy": (c.POINTER(Handle),),
    "exchange_create": (Handle, c.POINTER(Handle), c.c_int, c.POINTER(ExchangeOptions), c.POINTER(Handle)),
    "exchange_destroy": (c.POINTER(Handle),),
    "exchange_park": (c.POINTER(Handle),),
    "exchange_get_info": (Handle, c.POINTER(ExchangeInfo)),
    "exchange_start_at": (Handle, c.POINTER(c.c_void_p), c.c_int, c.c_void_p),
    "exchange_run_at": (Handle, c.POINTER(c.c_void_p), c.c_int, c.c_void_p),
    "exchange_progress": (Handle, c.POINTER(c.c_int)),
    "exchange_finish": (Handle, c.c_void_p),
}
_OF_SOLVER: dict[str, tuple[Any, ...]] = {
    "solve": (Handle, c.POINTER(SolveOptions), c.POINTER(SolveResult)),
    "describe_solve": (c.POINTER(SolveOptions), c.c_int, c.POINTER(c.c_char_p)),
}


#: Called in each step: who calls them passes values of their types, the queue as one of ctypes, too, and looks at the
#: status. To convert and look here would take 0.5 us more.
_IN_LOOPS = ("exchange_start_at", "exchange_run_at", "exchange_finish")


class Interface:
    """A library's functions, without "halocline_"; a status other than ok raises its error, but of those in loops."""

    def __init__(self, library: c.CDLL, functions: dict[str, tuple[Any, ...]]) -> None:
        self._last_error = library.halocline_last_error
        self._last_error.restype = c.c_char_p
        for name, parameters in functions.items():
            function = getattr(library, "halocline_" + name)
            function.restype = c.c_int
            if name not in _IN_LOOPS:
                function.argtypes, function.errcheck = parameters, self._checked
            setattr(self, name, function)

    def __getattr__(self, name: str) -> Any:  # for checkers of types: __init__ sets them
        raise AttributeError(name)

    def error(self, status: int) -> errors.Error:
        """Returns the error of this thread's last failed call."""
        error = errors.OF_STATUS[status - 1](self._last_error().decode())
        if re.search(r"\b[xyz]\b|\dx\d", str(error)):
            error.add_note("In this text x is the last axis of your arrays, y the one before, z the first of three.")
        return error

    def _checked(self, status: int, _function: Any, _arguments: Any) -> None:
        if status:
            raise self.error(status)


@functools.cache
def interface() -> Interface:
    """Loads the library of the MPI that mpi4py has started, at the first call."""
    return Interface(_library.load(), _PARAMETERS)


@functools.cache
def solver() -> Interface:
    """The same of the solver's library, which has the functions of the other one at hand."""
    return Interface(_library.load_solver(), _OF_SOLVER)
