# SPDX-License-Identifier: Apache-2.0
"""Arrays of CuPy and PyTorch in the memory of real GPUs: halos, streams, graphs."""

import gc
import os

import halocline as hc
import numpy as np
import pytest
from test_exchange import expected, filled, whole


def gpus_of(library):
    try:
        module = pytest.importorskip(library)
        count = module.cuda.runtime.getDeviceCount() if library == "cupy" else module.cuda.device_count()
    except Exception as error:  # each library has its own where there is no driver
        pytest.skip(f"{library} finds no GPU: {error}")
    if os.environ.get("HALOCLINE_REQUIRE") == "gpu" or count == 0:
        pytest.skip("no real GPUs")
    return module


class OfCupy:
    name = "cupy"

    def __init__(self, ordinal):
        self.module = gpus_of("cupy")
        self.module.cuda.Device(ordinal).use()

    def put(self, grid, values):
        array = grid.zeros(values.dtype, like="cupy")
        array[...] = self.module.asarray(filled(grid, values))
        return array

    get = staticmethod(lambda array: array.get())
    stream = property(lambda self: self.module.cuda.Stream(non_blocking=True))

    def captured(self, work):
        stream = self.stream
        with stream:
            stream.begin_capture()
            work()
            graph = stream.end_capture()
        return lambda: (graph.launch(stream), stream.synchronize())


class OfTorch:
    name = "torch"

    def __init__(self, ordinal):
        self.module = gpus_of("torch")
        self.module.cuda.set_device(ordinal)

    def put(self, grid, values):
        array = grid.zeros(getattr(self.module, values.dtype.name), like="torch")
        return array.copy_(self.module.from_numpy(filled(grid, values)))

    get = staticmethod(lambda array: array.cpu().numpy())
    stream = property(lambda self: self.module.cuda.Stream())

    def captured(self, work):
        graph = self.module.cuda.CUDAGraph()
        with self.module.cuda.graph(graph):
            work()
        return lambda: (graph.replay(), self.module.cuda.synchronize())


@pytest.fixture(scope="module", params=[OfCupy, OfTorch], ids=lambda one: one.name)
def library(request):
    gpus_of(request.param.name)
    return request.param(hc.bind_gpu().ordinal)


@pytest.mark.parametrize("cells, halo", [((40,), 1), ((64, 50), 1), ((33, 34), 2), ((16, 18, 20), 1)])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_one_plan_serves_arrays_in_turn(library, cells, halo, dtype):
    grid = hc.Grid(cells, periodic=True, halo=halo)
    values = whole(cells, dtype)
    arrays = [library.put(grid, factor * values) for factor in (1, 2, 3)]
    exchange = hc.Exchange(grid, arrays[0])
    for factor, array in enumerate(arrays, 1):
        exchange.run(array)
        np.testing.assert_array_equal(library.get(array), expected(grid, factor * values, -1))


def test_rows_begin_aligned(library):
    array = hc.Grid((64, 50), halo=2).zeros("float32", like=library.name)
    address, layout = hc._arrays.described(array)
    assert (address + 2 * 4) % 128 == 0 and layout.strides[0] % 128 == 0


def sweeps(library, exchange, grid, arrays, count):
    u, v = arrays
    for _ in range(count):
        exchange.run(u)
        v[grid.inner] = 0.25 * ((u[:-2, 1:-1] + u[2:, 1:-1]) + (u[1:-1, :-2] + u[1:-1, 2:]))
        u, v = v, u


def reference(values, count):
    for _ in range(count):
        up, down, left, right = (np.roll(values, by, axis) for axis in (0, 1) for by in (1, -1))
        values = 0.25 * ((up + down) + (left + right))
    return values


def test_sweeps_have_the_bits_of_one_array(library):
    grid = hc.Grid((64, 50), periodic=True)
    values = np.random.default_rng(1).random(grid.cells)
    arrays = [library.put(grid, values) for _ in range(2)]
    sweeps(library, hc.Exchange(grid, arrays[0]), grid, arrays, 40)
    np.testing.assert_array_equal(library.get(arrays[0])[grid.inner], reference(values, 40)[grid.owned])


def test_a_graph_repeats_what_was_captured(library):
    grid = hc.Grid((64, 50), periodic=True)
    values = np.random.default_rng(2).random(grid.cells)
    arrays = [library.put(grid, values) for _ in range(2)]
    exchange = hc.Exchange(grid, arrays[0])
    if "staged" in exchange.info["transports"].values():
        pytest.skip("the host has a part in each exchange between ranks that share a GPU")
    sweeps(library, exchange, grid, arrays, 2)  # compiles what the library compiles at first
    replay = library.captured(lambda: sweeps(library, exchange, grid, arrays, 10))
    for _ in range(4):
        replay()
    np.testing.assert_array_equal(library.get(arrays[0])[grid.inner], reference(values, 42)[grid.owned])


def test_the_librarys_current_stream_is_meant(library):
    """On another stream the exchange follows work of that stream."""
    grid = hc.Grid((512, 512), periodic=True)
    values = np.random.default_rng(3).random(grid.cells)
    array, sources = library.put(grid, 0 * values), [library.put(grid, turn * values) for turn in range(20)]
    exchange, stream = hc.Exchange(grid, array), library.stream
    stream.synchronize()
    for turn, source in enumerate(sources):
        with stream if library.name == "cupy" else library.module.cuda.stream(stream):
            array[...] = source
            exchange.run(array)
            stream.synchronize()
        np.testing.assert_array_equal(library.get(array), expected(grid, turn * values, -1))
    exchange.run(array, stream=stream)
    stream.synchronize()


def test_calls_keep_no_memory(library):
    grid = hc.Grid((64, 64), periodic=True)
    array = library.put(grid, whole(grid.cells))
    exchange = hc.Exchange(grid, array)
    for _ in range(1000):
        exchange.run(array)
    before = _resident()
    for _ in range(100_000):
        exchange.run(array)
    gc.collect()
    assert _resident() - before < 2 << 20


def _resident():
    with open("/proc/self/statm", encoding="utf-8") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def test_solves_start_from_arrays_and_end_in_them(library):
    grid = hc.Grid((48, 64), halo=2)
    values = np.random.default_rng(4).random(grid.cells)
    u, twin = library.put(grid, values), np.ascontiguousarray(values[grid.owned])
    options = {"grid": grid, "sweeps": 30, "norm": "max"}
    expected = hc.solve("laplace", arrays={"u": twin}, backend="cpu", **options)
    result = hc.solve("laplace", arrays={"u": u}, **options)
    assert result.report["backend"] == "cuda" and result.checksum == expected.checksum
    np.testing.assert_array_equal(library.get(u[grid.inner]), twin)
    made = hc.solve("laplace", cells=(48, 64), sweeps=3, like=library.name)
    np.testing.assert_array_equal(library.get(made["u"]), hc.solve("laplace", cells=(48, 64), sweeps=3)["u"])
