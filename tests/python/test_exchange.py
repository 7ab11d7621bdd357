# SPDX-License-Identifier: Apache-2.0
"""Exchanges of NumPy arrays, on any number of ranks."""

import gc
import os
import resource
import weakref

import halocline as hc
import numpy as np
import pytest
from mpi4py import MPI

PERIODIC = [((12, 10), True), ((40,), True), ((9, 8, 7), True), ((12, 10), (True, False)), ((12, 16), (False, False))]


def whole(cells, dtype="f8"):
    return (np.arange(np.prod(cells)) + 1).reshape(cells).astype(dtype)


def expected(grid, values, unset):
    """The arrays that a rank should have: each halo cell is the cell that it images, or was never set."""
    padded = values
    for axis, (before, after) in enumerate(grid.halo):
        width = [(0, 0)] * len(grid.cells)
        width[axis] = (before, after)
        how = {"mode": "wrap"} if grid.periodic[axis] else {"mode": "constant", "constant_values": unset}
        padded = np.pad(padded, width, **how)
    ends = zip(grid.owned, grid.halo)
    return padded[tuple(slice(own.start, own.stop + sum(sides)) for own, sides in ends)]


def filled(grid, values, unset=-1, order="C"):
    array = np.full(grid.shape, unset, values.dtype, order=order)
    array[grid.inner] = values[grid.owned]
    return array


@pytest.mark.parametrize("cells, periodic", PERIODIC)
@pytest.mark.parametrize("halo", [1, 2])
def test_halos_are_what_they_image(cells, periodic, halo):
    grid = hc.Grid(cells, periodic=periodic, halo=halo)
    values = whole(cells)
    array = filled(grid, values)
    hc.Exchange(grid, array).run()
    np.testing.assert_array_equal(array, expected(grid, values, -1))


@pytest.mark.parametrize("dtype", ["i1", "f4", "f8", "c16"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_types_and_orders(dtype, order):
    grid = hc.Grid((12, 10), periodic=True, halo=[(1, 2), (0, 1)])
    values = whole(grid.cells, dtype)
    array = filled(grid, values, order=order)
    hc.Exchange(grid, array).run()
    np.testing.assert_array_equal(array, expected(grid, values, -1))


def test_one_plan_serves_arrays_in_turn():
    grid = hc.Grid((12, 10), periodic=True)
    values = whole(grid.cells)
    halo = hc.Exchange(grid, grid.zeros())
    for turn in range(5):
        array = filled(grid, values + turn)
        halo.run(array)
        np.testing.assert_array_equal(array, expected(grid, values + turn, -1))
    a, b = filled(grid, values), filled(grid, -values)
    for array in (a, b, a, b):
        halo.run(array)
    np.testing.assert_array_equal(b, expected(grid, -values, -1))


def test_one_plan_serves_arrays_at_any_address():
    grid = hc.Grid((12, 10), periodic=True)
    values = whole(grid.cells)
    halo = hc.Exchange(grid, grid.zeros())
    for shift in (0, 1, 4, 8, 16, 33):
        memory = np.zeros(grid.zeros().nbytes + shift, "u1")
        array = np.frombuffer(memory, "f8", offset=shift).reshape(grid.shape)
        array[...] = filled(grid, values + shift)
        halo.run(array)
        np.testing.assert_array_equal(array, expected(grid, values + shift, -1))


def test_several_arrays_travel_together():
    grid = hc.Grid((12, 10), periodic=True)
    values = [whole(grid.cells, "f8"), whole(grid.cells, "f4"), -whole(grid.cells, "f8")]
    arrays = [filled(grid, one) for one in values]
    halo = hc.Exchange(grid, arrays)
    halo.run(*arrays)
    for array, one in zip(arrays, values):
        np.testing.assert_array_equal(array, expected(grid, one, -1))
    assert halo.info["messages"] <= 8  # for all of them


def test_a_part_of_an_array_is_filled_in_its_place():
    grid = hc.Grid((12, 10), periodic=True)
    values = whole(grid.cells)
    around = np.full((grid.shape[0], grid.shape[1] + 5), 7.0)
    part = around[:, 2 : 2 + grid.shape[1]]
    part[...] = filled(grid, values)
    hc.Exchange(grid, part).run(part)
    np.testing.assert_array_equal(part, expected(grid, values, -1))
    assert (around[:, :2] == 7).all() and (around[:, -3:] == 7).all()


def test_the_interior_needs_no_halo():
    grid = hc.Grid((24, 16), periodic=True)
    values = whole(grid.cells)
    array, cells = filled(grid, values), np.zeros(grid.shape, int)
    cells[grid.interior()] += 1
    for box in grid.boundary():
        cells[box] += 1
    assert (cells[grid.inner] == 1).all() and cells.sum() == cells[grid.inner].size
    halo = hc.Exchange(grid, array)
    with halo.during(array):
        for one in grid.interior():
            assert one.start >= 2
    np.testing.assert_array_equal(array, expected(grid, values, -1))
    halo.start(array)
    while not halo.progress():
        pass
    halo.finish()


def test_faces_alone_leave_corners():
    grid = hc.Grid((12, 10), periodic=True)
    values = whole(grid.cells)
    array = filled(grid, values)
    hc.Exchange(grid, array, neighbours="faces").run()
    want = expected(grid, values, -1)
    for corner in ((0, 0), (0, -1), (-1, 0), (-1, -1)):
        want[corner] = -1
    np.testing.assert_array_equal(array, want)


def test_arrays_unlike_the_planned_one_are_refused():
    grid = hc.Grid((12, 10), periodic=True)
    halo = hc.Exchange(grid, grid.zeros("f8"))
    for wrong in (grid.zeros("f4"), np.zeros(grid.shape, order="F"), np.zeros((3, 3))):
        with pytest.raises(hc.UsageError, match="unlike the planned one .*planned: shape"):
            halo.run(wrong)
    with pytest.raises(hc.UsageError, match=r"2 array\(s\) for an exchange of 1"):
        halo.run(grid.zeros(), grid.zeros())
    read_only = grid.zeros()
    read_only.flags.writeable = False
    with pytest.raises(hc.UsageError, match="read-only"):
        halo.run(read_only)
    with pytest.raises(hc.UsageError, match="no array"):
        halo.run("text")
    with pytest.raises(hc.UsageError, match="host memory"):
        halo.run(grid.zeros(), stream=3)


def test_plans_that_do_not_fit_are_refused():
    grid = hc.Grid((12, 10), periodic=True)
    with pytest.raises(hc.UsageError, match=r"has shape \(3, 3\); this rank's part"):
        hc.Exchange(grid, np.zeros((3, 3)))
    with pytest.raises(hc.UsageError, match="nosuch"):
        hc.Exchange(grid, grid.zeros(), transport="nosuch")
    with pytest.raises(hc.UsageError, match="one to three axes"):
        hc.Grid((2, 2, 2, 2))
    with pytest.raises(hc.UsageError, match="3 entries for 2 axes"):
        hc.Grid((12, 10), periodic=(True, True, True))
    with pytest.raises(hc.UsageError, match="reach .* has 2 entries for 1 axes"):
        hc.Grid((12,)).interior((1, 1))
    with pytest.raises(hc.UsageError, match="cannot be made"):
        grid.zeros(like="nosuch")
    with pytest.raises(hc.UsageError, match="made by JAX"):
        grid.zeros(like="jax")
    with pytest.raises(hc.UsageError, match=r"cells 10\.7 is no whole number"):
        hc.Grid((10.7, 10))
    with pytest.raises(hc.UsageError, match=r"along one they are \(before, after\)"):
        hc.Grid((12, 10), halo=(1, 1, 2))
    with pytest.raises(hc.UsageError, match="comm= takes an intracommunicator of mpi4py's, not a int"):
        hc.Grid((12, 10), comm=3)
    with pytest.raises(hc.UsageError, match="one place in memory"):
        hc.Exchange(grid, np.lib.stride_tricks.as_strided(np.zeros(20), grid.shape, (0, 8)))
    with pytest.raises(hc.UsageError, match=r"type \|O: only values of a number of bytes"):
        hc.Exchange(grid, np.zeros(grid.shape, object))


def test_what_is_closed_says_so():
    grid = hc.Grid((12, 10), periodic=True)
    halo = hc.Exchange(grid, grid.zeros())
    halo.close()
    assert repr(halo) == "<halocline.Exchange, closed>"
    for use in (halo.run, halo.start, halo.finish, lambda: halo.info):
        with pytest.raises(hc.UsageError, match="this exchange is closed"):
            use()
    grid.close()
    with pytest.raises(hc.UsageError, match="the grid is closed"):
        hc.Exchange(grid, grid.zeros())


def test_an_error_during_an_exchange_finishes_it():
    grid = hc.Grid((12, 10), periodic=True)
    array = filled(grid, whole(grid.cells))
    halo = hc.Exchange(grid, array)
    with pytest.raises(KeyError), halo.during(array):
        raise KeyError
    np.testing.assert_array_equal(array, expected(grid, whole(grid.cells), -1))
    halo.run(array)


def test_errors_say_which_axis_is_x():
    with pytest.raises(hc.UsageError) as error:
        hc.Grid((12, 10), process_grid=(999, 1))
    assert "1x999" in str(error.value) and "x is the last axis" in error.value.__notes__[0]


def test_a_grid_waits_for_the_others_no_longer_than_asked():
    if MPI.COMM_WORLD.Get_size() == 1:
        pytest.skip("no other rank")
    comm = MPI.COMM_WORLD.Dup()
    if comm.Get_rank() == 0:
        with pytest.raises(hc.CommunicationError, match="rank 0 has waited 0.3 s for all ranks to make this grid"):
            hc.Grid((12, 10), comm=comm, wait_limit=0.3)
    MPI.COMM_WORLD.Barrier()
    if comm.Get_rank() != 0:
        comm.Ibarrier().Wait()  # ends rank 0's


def test_a_forked_process_ends_by_itself():
    grid = hc.Grid((12, 10), periodic=True)
    halo = hc.Exchange(grid, grid.zeros())
    child = os.fork()
    if child == 0:
        halo.__del__()
        grid.__del__()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    halo.run()


def test_dropped_exchanges_are_parked_wherever_they_end():
    grid = hc.Grid((12, 10), periodic=True)
    array = grid.zeros()
    gone = weakref.ref(array)
    for turn in range(20):
        halo = hc.Exchange(grid, array)
        halo.itself = halo  # a cycle, which only the collector ends: at other times on each rank
        if turn % 3 == grid.rank % 3:
            gc.collect()
    del halo, array
    gc.collect()
    assert gone() is None
    hc.Exchange(grid, grid.zeros()).run()


def test_many_runs_leave_nothing_behind():
    grid = hc.Grid((12, 10), periodic=True)
    array = grid.zeros()
    halo = hc.Exchange(grid, array)

    def kilobytes():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    for _ in range(2000):
        halo.run(array)
    before = kilobytes()
    for _ in range(100_000 if grid.ranks == 1 else 20_000):
        halo.run(array)
    assert kilobytes() - before < 400


def test_closed_in_order():
    with hc.Grid((12, 10), periodic=True) as grid, hc.Exchange(grid, grid.zeros()) as halo:
        halo.run()
    with pytest.raises(hc.UsageError):
        halo.run()


def test_a_library_that_cannot_be_loaded_is_named_with_the_mpi(monkeypatch):
    monkeypatch.setenv("HALOCLINE_LIBRARY", "/nowhere/libhalocline.so")
    with pytest.raises(hc.UnavailableError, match=r"/nowhere/libhalocline.so \(HALOCLINE_LIBRARY\) cannot be loaded: .*"
                       r"; MPI is .*libmpi.*, and the library must be built for (openmpi|mpich|mpiabi)"):
        hc._library.load()
