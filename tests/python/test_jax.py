# SPDX-License-Identifier: Apache-2.0
"""Exchanges of arrays of JAX, compiled and not, on any number of ranks. In host memory only."""

import concurrent.futures
import os
import subprocess
import sys

import halocline as hc
import numpy as np
import pytest
from mpi4py import MPI
from test_exchange import PERIODIC, expected, filled, whole

try:
    from halocline.jax import exchange
except hc.UnavailableError as error:
    if "jax" in os.environ.get("HALOCLINE_REQUIRE", "").split(","):
        raise
    pytest.skip(str(error), allow_module_level=True)

import jax
import jax.numpy as jnp

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_enable_x64", True)


def like(grid, dtype="float64"):
    return jax.ShapeDtypeStruct(grid.shape, dtype)


def check(array, grid, values, unset=-1):
    np.testing.assert_array_equal(np.asarray(array), expected(grid, values, unset))


@pytest.mark.parametrize("cells, periodic", PERIODIC)
@pytest.mark.parametrize("halo", [1, 2])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_halos_are_what_they_image(cells, periodic, halo, dtype):
    grid = hc.Grid(cells, periodic=periodic, halo=halo)
    values = whole(cells, dtype)
    before = filled(grid, values)
    array = jnp.asarray(before)
    with exchange(grid, array) as new_halos:
        check(new_halos(array), grid, values)
        check(jax.jit(new_halos)(array), grid, values)
        np.testing.assert_array_equal(np.asarray(array), before)  # whose caller still has it
        check(jax.jit(new_halos, donate_argnums=0)(array), grid, values)


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "bfloat16", "complex64", "complex128", "uint64"])
def test_all_types_of_whole_bytes(dtype):
    grid = hc.Grid((12, 10), periodic=True, halo=[(1, 2), (0, 1)])
    values = np.asarray(jnp.asarray(whole(grid.cells) % 3).astype(dtype))
    with exchange(grid, like(grid, dtype)) as halo:
        array = jax.jit(lambda u: halo(u))(jnp.asarray(filled(grid, values, unset=0)))
        assert array.dtype == dtype
        check(array, grid, values, 0)


def test_without_types_of_64_bits():
    grid = hc.Grid((12, 10), periodic=True)
    values = whole(grid.cells, "f4")
    jax.config.update("jax_enable_x64", False)
    try:
        with exchange(grid, like(grid, "float32")) as halo:
            check(halo(filled(grid, values)), grid, values)
        with exchange(grid, like(grid)) as halo, pytest.raises(hc.UsageError, match="type float32.* and type float64"):
            halo(filled(grid, values))
    finally:
        jax.config.update("jax_enable_x64", True)


def averages(u):
    return 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])


def averages_of_all(u):
    return 0.25 * ((np.roll(u, 1, 0) + np.roll(u, -1, 0)) + np.roll(u, 1, 1) + np.roll(u, -1, 1))


@pytest.mark.parametrize("donated", [(), (0,)])
@pytest.mark.parametrize("loop", ["fori_loop", "while_loop", "scan", "cond", "calls"])
@pytest.mark.parametrize("dtype, ordered", [("f4", True), ("f8", True), ("f8", False)])
def test_in_loops(loop, donated, dtype, ordered):
    grid = hc.Grid((13, 10), periodic=True)
    values = whole(grid.cells, dtype)
    with exchange(grid, like(grid, dtype), ordered=ordered) as halo:

        def step(u):
            return jnp.pad(averages(halo(u)), 1)

        def steps(u):
            if loop == "fori_loop":
                return jax.lax.fori_loop(0, 20, lambda _, u: step(u), u)
            if loop == "scan":
                return jax.lax.scan(lambda u, _: (step(u), None), u, None, 20)[0]
            if loop == "cond":
                return jax.lax.fori_loop(0, 40, lambda k, u: jax.lax.cond(k % 2 == 1, step, lambda u: u, u), u)
            return jax.lax.while_loop(lambda at: at[0] < 20, lambda at: (at[0] + 1, step(at[1])), (0, u))[1]

        array = jnp.asarray(filled(grid, values))
        if loop == "calls":
            compiled = jax.jit(step, donate_argnums=donated)
            for _ in range(20):
                array = compiled(array)
        else:
            array = jax.jit(steps, donate_argnums=donated)(array)
        for _ in range(20):
            values = averages_of_all(values)
        np.testing.assert_array_equal(np.asarray(array)[grid.inner], values[grid.owned])


def test_several_arrays_travel_together():
    grid = hc.Grid((13, 10), periodic=True)
    values = [whole(grid.cells, "f8"), whole(grid.cells, "f4"), -whole(grid.cells, "f8")]
    with exchange(grid, [like(grid, one.dtype) for one in values]) as halo:
        arrays = jax.jit(lambda *all: halo(*all))(*(filled(grid, one) for one in values))
        assert halo.info["messages"] <= 8 and "of 3 array(s)" in repr(halo)
        for array, one in zip(arrays, values):
            check(array, grid, one)
        with pytest.raises(hc.UsageError, match="1 arrays for an exchange of 3"):
            halo(arrays[0])


@pytest.mark.parametrize("plans", [1, 2])
@pytest.mark.parametrize("a_first", [True, False])
@pytest.mark.parametrize("how", ["one computation", "a loop", "two loops", "two computations"])
def test_independent_exchanges_keep_the_order_of_the_program(plans, a_first, how):
    """XLA orders what is independent as it likes, here by the place in the arguments: another one on odd ranks. Parts
    differ in size, too. With one plan for both arrays another order would swap their halos, with two no rank would
    come to an end."""
    grids = [hc.Grid((13, 100), periodic=True, wait_limit=20), hc.Grid((14, 86), periodic=True, wait_limit=20)]
    grids = [grids[number % plans] for number in range(2)]
    halos = [exchange(grid, like(grid)) for grid in grids[:plans]]
    halo_of_a, halo_of_b = halos[0], halos[-1]
    values = [whole(grids[0].cells), -whole(grids[1].cells)]
    a, b = (jnp.asarray(filled(grid, one)) for grid, one in zip(grids, values))
    turn = -1 if grids[0].rank % 2 else 1

    def both(_, arrays):
        a, b = arrays[::turn]
        if a_first:
            a = halo_of_a(a * 2)
        b = halo_of_b(b * 2)
        if not a_first:
            a = halo_of_a(a * 2)
        return (a, b)[::turn]

    def alone(halo):
        return jax.jit(lambda u: jax.lax.fori_loop(0, 5, lambda _, u: halo(u * 2), u))

    if how == "one computation":
        arrays = (a, b)[::turn]
        for _ in range(5):
            arrays = jax.jit(both)(None, arrays)
        a, b = arrays[::turn]
    elif how == "a loop":
        a, b = jax.jit(lambda arrays: jax.lax.fori_loop(0, 5, both, arrays))((a, b)[::turn])[::turn]
    elif how == "two loops":
        loops = [alone(halo_of_a), alone(halo_of_b)]
        a, b = jax.jit(lambda arrays: [loop(u) for loop, u in zip(loops, arrays[::turn])][::turn])((a, b)[::turn])[
            ::turn
        ]
    else:
        a, b = alone(halo_of_a)(a), alone(halo_of_b)(b)
    for array, grid, one in zip((a, b), grids, values):
        check(array, grid, 32 * one, -32)
    for halo in halos:
        halo.close()


def test_plans_are_looked_at_and_grids_end_while_exchanges_run():
    grid = hc.Grid((12, 10), periodic=True)
    others = [hc.Grid((12, 10)) for _ in range(100)]
    values = whole(grid.cells)
    with exchange(grid, like(grid)) as halo:
        many = jax.jit(lambda u: jax.lax.fori_loop(0, 300, lambda _, u: halo(-u), u))
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            running = pool.submit(lambda: many(jnp.asarray(filled(grid, values))).block_until_ready())
            while others or not running.done():
                assert halo.info["bytes"] >= 0 and len(grid.interior()) == 2
                if others:
                    others.pop().close()
        check(running.result(), grid, values)


def test_a_compiled_function_outlives_what_planned_it():
    grid = hc.Grid((12, 10), periodic=True)
    values = whole(grid.cells)

    def made():
        halo = exchange(grid, like(grid))
        return jax.jit(lambda u: halo(u)).lower(like(grid)).compile()

    check(made()(jnp.asarray(filled(grid, values))), grid, values)


def test_a_closed_exchange_is_refused():
    grid = hc.Grid((12, 10), periodic=True)
    halo = exchange(grid, like(grid))
    array = jnp.asarray(grid.zeros())
    compiled = jax.jit(lambda u: halo(u)).lower(like(grid)).compile()
    slowed = jax.jit(lambda u: halo(u + 0 * jax.lax.fori_loop(0, 10000, lambda _, u: jnp.sin(u), u)))
    slowed(array)
    halo.close()
    halo.close()
    with pytest.raises(hc.UsageError, match="closed"):
        halo(array)
    for function in (compiled, slowed):
        with pytest.raises(jax.errors.JaxRuntimeError, match="exchange of this compiled function is closed"):
            function(array).block_until_ready()
    # Errors do not stay, also of computations that were under way when their call returned.
    with exchange(grid, like(grid)) as other:
        check(other(filled(grid, whole(grid.cells))), grid, whole(grid.cells))


def test_errors_of_the_library_are_those_of_the_computation():
    if MPI.COMM_WORLD.Get_size() == 1:
        pytest.skip("one rank waits for none")
    grid = hc.Grid((12, 10), periodic=True, wait_limit=0.5)
    array = jnp.asarray(grid.zeros())
    halo = exchange(grid, array)
    halo(array).block_until_ready()
    MPI.COMM_WORLD.Barrier()
    if grid.rank == 0:  # the others do not
        with pytest.raises(jax.errors.JaxRuntimeError, match="0.5 s"):
            halo(array).block_until_ready()
    MPI.COMM_WORLD.Barrier()


def test_transformations_are_refused():
    grid = hc.Grid((12, 10), periodic=True)
    array = jnp.asarray(filled(grid, whole(grid.cells)))
    with exchange(grid, array) as halo:
        for transformed in (
            lambda: jax.grad(lambda u: halo(u).sum())(array),
            lambda: jax.jvp(halo, (array,), (array,)),
            lambda: jax.vjp(jax.jit(halo), array),
        ):
            with pytest.raises(hc.UsageError, match="derivatives of an exchange are not available yet: its adjoint"):
                transformed()
        with pytest.raises(hc.UsageError, match="cannot be mapped by jax.vmap"):
            jax.vmap(halo)(jnp.stack([array, array]))
        gradient = jax.grad(lambda u: (u * halo(jax.lax.stop_gradient(u))).sum())(array)
        check(gradient, grid, whole(grid.cells))
        with jax.disable_jit():
            check(halo(array), grid, whole(grid.cells))


def test_arrays_unlike_the_planned_ones_are_refused():
    grid = hc.Grid((12, 10), periodic=True)
    with exchange(grid, like(grid, "float32")) as halo:
        planned = rf"planned for shape \({grid.shape[0]}, {grid.shape[1]}\) and type float32"
        for wrong, said in ((jnp.zeros((3, 3), "float32"), r"shape \(3, 3\)"), (jnp.zeros(grid.shape), "type float64")):
            with pytest.raises(hc.UsageError, match=f"{said}.*{planned}"):
                jax.jit(halo)(wrong)
        with pytest.raises(hc.UsageError, match="'cpu' in a computation on 'cuda'"):
            jax.jit(halo).trace(like(grid, "float32")).lower(lowering_platforms=("cuda",))
    with pytest.raises(hc.UsageError, match=r"has shape \(3, 3\); this rank's part"):
        exchange(grid, jax.ShapeDtypeStruct((3, 3), "float32"))
    with pytest.raises(hc.UsageError, match="less than a byte"):
        exchange(grid, like(grid, "int4"))
    with pytest.raises(hc.UsageError, match="planned outside of jax.jit"):
        jax.jit(lambda u: exchange(grid, u)(u))(jnp.zeros(grid.shape))
    with pytest.raises(hc.UsageError, match="like= takes arrays of JAX"):
        exchange(grid, "float32")
    with pytest.raises(hc.UsageError, match="no arrays"):
        exchange(grid, [])
    with pytest.raises(hc.UsageError, match="nosuch"):
        exchange(grid, like(grid), transport="nosuch")


def test_nothing_writes_into_an_array_of_jax():
    grid = hc.Grid((12, 10), periodic=True)
    array = jnp.zeros(grid.shape)
    with pytest.raises(hc.UsageError, match="array of JAX, .*halocline.jax.exchange returns new ones"):
        hc.Exchange(grid, array)
    with hc.Exchange(grid, grid.zeros()) as halo, pytest.raises(hc.UsageError, match="array of JAX"):
        halo.run(array)


def test_halocline_alone_imports_no_jax():
    program = "import sys, halocline; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], env=dict(os.environ), check=False).returncode == 0
