# SPDX-License-Identifier: Apache-2.0
"""Arrays in GPU memory, where CUDA runs on the CPU: its calls are those of the library then."""

import ctypes
import os
import sys
import types

import halocline as hc
import numpy as np
import pytest
from halocline import _arrays, _c
from test_exchange import expected, filled, whole

pytestmark = pytest.mark.skipif(os.environ.get("HALOCLINE_REQUIRE") != "gpu", reason="no emulated GPUs")
TO_GPU, FROM_GPU = 1, 2


def call(name, *arguments):
    assert getattr(ctypes.CDLL(os.environ["HALOCLINE_LIBRARY"]), name)(*arguments) == 0, name


class GpuArray:
    """Memory of a GPU as CuPy and others show it."""

    def __init__(self, values):
        place = ctypes.c_void_p()
        self.shape, self.typestr, self.bytes = values.shape, values.dtype.str, ctypes.c_size_t(values.nbytes)
        call("cudaMalloc", ctypes.byref(place), self.bytes)
        self.place = place
        call("cudaMemcpy", place, values.ctypes.data_as(ctypes.c_void_p), self.bytes, TO_GPU)

    def __del__(self):
        call("cudaFree", self.place)

    def get(self):
        values = np.empty(self.shape, self.typestr)
        call("cudaDeviceSynchronize")
        call("cudaMemcpy", values.ctypes.data_as(ctypes.c_void_p), self.place, self.bytes, FROM_GPU)
        return values

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.shape, "typestr": self.typestr, "data": (self.place.value, False), "version": 3}


@pytest.fixture(scope="module", autouse=True)
def gpu():
    return hc.bind_gpu()


def test_each_rank_has_a_gpu(gpu):
    assert gpu.ordinal in (0, 1) and gpu.ranks_on_gpu >= 1 and gpu.uuid.startswith("GPU-")


@pytest.mark.parametrize("cells, halo", [((12, 10), 1), ((16, 9), 2), ((8, 9, 7), 1)])
def test_one_plan_serves_arrays_in_turn(cells, halo):
    grid = hc.Grid(cells, periodic=True, halo=halo)
    values = whole(cells)
    arrays = [GpuArray(filled(grid, factor * values)) for factor in (1, 2, 3)]
    exchange = hc.Exchange(grid, arrays[0])
    for factor, array in enumerate(arrays, 1):
        exchange.run(array, stream=0)
        np.testing.assert_array_equal(array.get(), expected(grid, factor * values, -1))


def test_other_work_goes_between():
    grid = hc.Grid((12, 10), periodic=True)
    values = whole(grid.cells)
    array = GpuArray(filled(grid, values))
    with hc.Exchange(grid, array).during(array, stream=0):
        pass
    np.testing.assert_array_equal(array.get(), expected(grid, values, -1))


def test_without_a_stream_of_a_known_library_one_must_be_given():
    grid = hc.Grid((12, 10), periodic=True)
    array = GpuArray(grid.zeros())
    exchange = hc.Exchange(grid, array)
    with pytest.raises(hc.UsageError, match="which stream is meant for a GpuArray"):
        exchange.run(array)
    with pytest.raises(hc.UsageError, match="unlike the planned one .*host memory; planned: .*GPU memory"):
        exchange.run(grid.zeros(), stream=0)
    with pytest.raises(hc.UsageError, match="GPU memory, array 0 is not"):
        hc.Exchange(grid, [grid.zeros(), array])


def test_the_default_stream_is_not_the_hosts(monkeypatch):
    current = types.SimpleNamespace(ptr=0)
    library = types.SimpleNamespace(cuda=types.SimpleNamespace(get_current_stream=lambda: current))
    monkeypatch.setitem(sys.modules, "cupy", library)
    array = type("ndarray", (), {"__module__": "cupy._core.core"})()
    of_array = _arrays.stream_reader(array, True)
    assert of_array() == _c.CUDA_DEFAULT_STREAM
    current.ptr = 77
    assert of_array() == 77
    assert _arrays.stream_reader(array, False)() == _c.HOST_STREAM
    assert _arrays.number_of(types.SimpleNamespace(__cuda_stream__=lambda: (0, 78)), True) == 78
    assert _arrays.number_of(types.SimpleNamespace(cuda_stream=0), True) == _c.CUDA_DEFAULT_STREAM
