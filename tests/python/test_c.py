# SPDX-License-Identifier: Apache-2.0
"""The structures and functions of _c.py against the header."""

import ctypes
import pathlib
import re

from halocline import _c, errors

INCLUDE = pathlib.Path(__file__).parents[2] / "include" / "halocline"
HEADER = "".join((INCLUDE / name).read_text(encoding="utf-8") for name in ("halocline.h", "solver.h"))
CODE = re.sub(r"/\*.*?\*/", "", HEADER, flags=re.DOTALL)
STRUCTURES = {
    "box": _c.Box,
    "widths": _c.Widths,
    "grid_options": _c.GridOptions,
    "grid_info": _c.GridInfo,
    "field_options": _c.FieldOptions,
    "exchange_options": _c.ExchangeOptions,
    "exchange_info": _c.ExchangeInfo,
    "device_info": _c.DeviceInfo,
    "solve_array": _c.SolveArray,
    "parameter": _c.Parameter,
    "option": _c.Option,
    "progress": _c.Progress,
    "solve_options": _c.SolveOptions,
    "solve_result": _c.SolveResult,
}
TYPES = {
    "size_t": ctypes.c_size_t,
    "int64_t": ctypes.c_int64,
    "int": ctypes.c_int,
    "double": ctypes.c_double,
    "const char*": ctypes.c_char_p,
    "char": ctypes.c_char,
    "halocline_box": _c.Box,
    "halocline_widths": _c.Widths,
    "const halocline_widths*": ctypes.POINTER(_c.Widths),
    "uint64_t": ctypes.c_uint64,
    "void*": ctypes.c_void_p,
    "halocline_field*": _c.Handle,
    "const halocline_solve_array*": ctypes.POINTER(_c.SolveArray),
    "const halocline_parameter*": ctypes.POINTER(_c.Parameter),
    "const halocline_option*": ctypes.POINTER(_c.Option),
    "void (*)(const halocline_progress* progress, void* user)": _c.OnProgress,
    "const char* (*)(void* user)": _c.StopRequest,
}


def members_of(name):
    body = re.search(rf"typedef struct halocline_{name} {{(.*?)}} halocline_{name};", CODE, re.DOTALL)[1]
    members = []
    for line in filter(None, (one.strip() for one in body.split(";"))):
        line = " ".join(line.split())
        if function := re.match(r"(.*\(\*)(\w+)(\).*)", line):
            members.append((function[2], TYPES[function[1] + function[3]]))
            continue
        kind, names = re.match(r"((?:const )?\w+\*?)\s*(.*)", line).groups()
        for one in names.split(","):
            member, extent = re.match(r"\s*(\w+)(?:\[(\d+)\])?$", one).groups()
            members.append((member, TYPES[kind] * int(extent) if extent else TYPES[kind]))
    return members


def test_structures_are_those_of_the_header():
    for name, structure in STRUCTURES.items():
        assert [(member, kind) for member, kind, *_ in structure._fields_] == members_of(name), name


def test_functions_take_what_the_header_says():
    for name, parameters in {**_c._PARAMETERS, **_c._OF_SOLVER}.items():
        declared = re.search(rf"halocline_status halocline_{name}\((.*?)\);", CODE, re.DOTALL)[1].split(",")
        assert len(declared) == len(parameters), name
        for text, kind in zip(declared, parameters):
            is_pointer = "*" in text or "[" in text
            assert is_pointer == (kind is not ctypes.c_int), (name, text)


def test_each_status_has_a_class():
    names = re.findall(r"HALOCLINE_([A-Z]+) = (\d+)", CODE)
    assert [(name, int(number)) for name, number in names[1:]] == [
        (kind.__name__.removesuffix("Error").upper(), number) for number, kind in enumerate(errors.OF_STATUS, 1)
    ]
    assert names[0] == ("OK", "0")


def test_constants_are_those_of_the_header():
    assert "#define HALOCLINE_AS_EXPECTED (-INT64_MAX)" in CODE and _c.AS_EXPECTED == -(2**63 - 1)
    assert "HALOCLINE_HOST_STREAM ((void*)0)" in CODE and _c.HOST_STREAM == 0
    assert "HALOCLINE_CUDA_DEFAULT_STREAM ((void*)1)" in CODE and _c.CUDA_DEFAULT_STREAM == 1
