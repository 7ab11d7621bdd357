# SPDX-License-Identifier: Apache-2.0
"""Fills the halos of arrays of JAX, inside jax.jit and outside.

    from halocline.jax import exchange

    halo = exchange(grid, like=jax.ShapeDtypeStruct(grid.shape, "float32"))
    step = jax.jit(lambda u: update(halo(u)), donate_argnums=0)

Needs JAX 0.5 or newer, and libhalocline_jax.so, which is built where jaxlib is installed.
"""

from __future__ import annotations

import ctypes
import functools
import re
from collections.abc import Sequence
from typing import Any, Self

import numpy

from halocline import _c, _library
from halocline.errors import UnavailableError, UsageError
from halocline.exchange import Exchange
from halocline.grid import Grid

try:
    import jax
    from jax._src import core, dispatch, effects
    from jax.extend.core import Primitive
    from jax.interpreters import ad, batching, mlir

    _ffi = jax.ffi
except (ImportError, AttributeError) as error:
    raise UnavailableError(f"halocline.jax needs JAX 0.5 or newer (`pip install jax`): {error}") from error

_FILE = _library.beside("libhalocline_jax.so")
if not _FILE.exists():
    raise UnavailableError(
        f"halocline.jax needs {_FILE}, which is built where jaxlib is installed: `pip install jax`, then install "
        "Halocline again, or give a build of your own HALOCLINE_JAX_INCLUDE (jax.ffi.include_dir())"
    )

__all__ = ["ArrayExchange", "exchange"]

_TARGETS = {"cpu": "halocline_jax_on_host", "cuda": "halocline_jax_on_gpu"}
_XLA_NAMES = {"cpu": "cpu", "cuda": "CUDA"}
#: Plans by their numbers in the handler. Compiled functions know only these, so the plans stay until they are closed.
_plans: dict[int, Exchange] = {}
#: Closed ones on GPUs: a CUDA graph of XLA's may run them again, without asking the handler.
_recorded: list[Exchange] = []


@functools.cache
def _handler() -> ctypes.CDLL:
    """Loads what XLA calls, and tells it of libhalocline and XLA of it."""
    library = ctypes.CDLL(str(_FILE))
    library.halocline_jax_add.argtypes, library.halocline_jax_add.restype = (_c.Handle,), ctypes.c_int64
    library.halocline_jax_remove.argtypes, library.halocline_jax_remove.restype = (ctypes.c_int64,), None
    library.halocline_jax_use(_c.interface().exchange_run_at, _c.interface()._last_error)
    for platform, name in _TARGETS.items():
        try:
            _ffi.register_ffi_target(
                name, _ffi.pycapsule(getattr(library, name)), platform=_XLA_NAMES[platform]
            )
        except Exception as error:
            raise UnavailableError(
                f"JAX {jax.__version__} does not take {_FILE}: {error}; build it with the headers of this JAX or of an "
                "older one"
            ) from error
    return library


def _settle() -> None:
    """Waits for exchanges under way, which would refuse this thread. The error of one that failed is in its results;
    JAX would give it to all later exchanges, too."""
    try:
        jax.effects_barrier()
    except jax.errors.JaxRuntimeError:
        dispatch.runtime_tokens.clear()


class _Order(effects.Effect):  # type: ignore[misc]
    """JAX keeps what has this effect in the order of the program, also across loops and computations. XLA by itself
    starts what is independent in an order of its own, which may be another one on another rank."""

    def __str__(self) -> str:
        return "HaloOrder"


_ORDER = _Order()
effects.lowerable_effects.add_type(_Order)
effects.ordered_effects.add_type(_Order)
effects.control_flow_allowed_effects.add_type(_Order)

_primitive = Primitive("halo_exchange")
_primitive.multiple_results = True
_primitive.def_effectful_abstract_eval(lambda *arrays, ordered, **_: (arrays, {_ORDER} if ordered else set()))


@functools.cache
def _compiled(**parameters: Any) -> Any:
    return jax.jit(functools.partial(_primitive.bind, **parameters))


@_primitive.def_impl  # type: ignore[untyped-decorator]
def _run(*arrays: Any, **parameters: Any) -> Any:
    with jax.disable_jit(False):
        return _compiled(**parameters)(*arrays)


def _lowering_for(here: str) -> Any:
    def lower(context: Any, *arrays: Any, plan: int, platform: str, ordered: bool) -> Any:
        if here != platform:
            raise UsageError(
                f"an exchange for arrays on '{platform}' in a computation on '{here}'; plan one like arrays that are "
                "there"
            )
        tokens = [core.abstract_token] * ordered
        rule = _ffi.ffi_lowering(
            _TARGETS[here],
            has_side_effect=True,
            operand_output_aliases={len(tokens) + number: len(tokens) + number for number in range(len(arrays))},
        )
        types = context.replace(avals_in=[*tokens, *context.avals_in], avals_out=[*tokens, *context.avals_out])
        facts = {"plan": numpy.int64(plan), "tokens": numpy.int64(len(tokens))}
        if not ordered:
            return rule(types, *arrays, **facts)
        done, *results = rule(types, context.tokens_in.get(_ORDER), *arrays, **facts)
        context.set_tokens_out(context.tokens_in.update_tokens(mlir.TokenSet({_ORDER: done})))
        return results

    return lower


for _platform in _TARGETS:
    mlir.register_lowering(_primitive, _lowering_for(_platform), platform=_platform)


def _differentiate(*_: Any, **__: Any) -> Any:
    raise UsageError(
        "derivatives of an exchange are not available yet: its adjoint adds halos to their owners; where none is "
        "wanted, give the exchange jax.lax.stop_gradient(array)"
    )


def _vectorise(*_: Any, **__: Any) -> Any:
    raise UsageError(
        "an exchange cannot be mapped by jax.vmap: its plan is for one array; plan it for several, or use a loop "
        "(jax.lax.map)"
    )


ad.primitive_jvps[_primitive] = _differentiate
batching.primitive_batchers[_primitive] = _vectorise


class _StandIn:
    """Memory to plan an exchange with, instead of an array: none is kept."""

    def __init__(self, shape: tuple[int, ...], item: int, platform: str, device: Any) -> None:
        facts: dict[str, Any] = {"shape": shape, "typestr": f"|V{item}", "version": 3}
        if platform == "cpu":
            self.memory: Any = numpy.empty((*shape, item), "uint8")
            self.__array_interface__ = {**facts, "data": (self.memory.ctypes.data, False)}
        else:
            self.memory = jax.numpy.zeros((*shape, item), "uint8", device=device).block_until_ready()
            self.__cuda_array_interface__ = {**facts, "data": (self.memory.unsafe_buffer_pointer(), False)}


def _device_of(like: Any) -> Any:
    """Returns the device of an array; for a shape alone, the one where JAX makes arrays."""
    new = jax.numpy.zeros(())
    if isinstance(new, core.Tracer) or isinstance(like, core.Tracer):
        raise UsageError("an exchange is planned outside of jax.jit, once, and called inside")
    sharding = getattr(like, "sharding", None) or new.sharding
    if len(sharding.device_set) != 1:
        raise UsageError(
            f"the array is on {len(sharding.device_set)} devices of JAX; a rank has one device, and its part of the "
            "grid there is an array of its own"
        )
    (device,) = sharding.device_set
    return device


class ArrayExchange:
    """A function of arrays of JAX: it returns them with new halos. Made by exchange().

    May be called in jax.jit, in lax.fori_loop, while_loop and scan, in branches that are the same on all ranks, and
    eagerly. Donated arrays, and those that nothing else reads, are filled in place; XLA copies others. Exchanges are
    run in the order of the program, the same on all ranks.
    """

    def __init__(self, grid: Grid, like: Any, ordered: bool, **options: Any) -> None:
        each = like if isinstance(like, (list, tuple)) else (like,)
        try:
            self._types = [(tuple(one.shape), numpy.dtype(one.dtype)) for one in each]
        except (AttributeError, TypeError) as error:
            raise UsageError(f"like= takes arrays of JAX, jax.ShapeDtypeStruct or a list of these: {error}") from error
        if not each:
            raise UsageError("an exchange of no arrays")
        for number, (_, dtype) in enumerate(self._types):
            if re.match(r"(u?int|float)[1-7](_|$)", dtype.name):
                raise UsageError(f"array {number} has type {dtype}: values of less than a byte cannot be exchanged")
        device = _device_of(each[0])
        self._platform = "cuda" if device.platform == "gpu" else device.platform
        if self._platform not in _TARGETS:
            raise UsageError(f"exchanges are for arrays on 'cpu' and 'cuda', not on '{self._platform}'")
        _require_threads()
        handler = _handler()
        _settle()
        stand_ins = [_StandIn(shape, dtype.itemsize, self._platform, device) for shape, dtype in self._types]
        self._plan = Exchange(grid, stand_ins, **options)
        for one in stand_ins:
            one.memory = None
        self._ordered = ordered
        self._number: int = handler.halocline_jax_add(self._plan._handle)
        _plans[self._number] = self._plan

    def __call__(self, *arrays: Any) -> Any:
        if self._number not in _plans:
            raise UsageError("this exchange is closed")
        if len(arrays) != len(self._types):
            raise UsageError(f"{len(arrays)} arrays for an exchange of {len(self._types)}")
        taken = [jax.numpy.asarray(array) for array in arrays]
        for number, (array, (shape, dtype)) in enumerate(zip(taken, self._types)):
            if (array.shape, array.dtype) != (shape, dtype):
                raise UsageError(
                    f"array {number} has shape {array.shape} and type {array.dtype}; the exchange was planned for "
                    f"shape {shape} and type {dtype}; plan another one"
                )
        results = _primitive.bind(*taken, plan=self._number, platform=self._platform, ordered=self._ordered)
        return results[0] if len(results) == 1 else tuple(results)

    @property
    def info(self) -> dict[str, Any]:
        """As Exchange.info."""
        return self._plan.info

    def close(self) -> None:
        """Waits for exchanges under way (not ordered ones: wait for their results before) and frees the plan, on GPUs
        when the process ends: XLA may have recorded it in a CUDA graph. To call functions compiled with it is an error
        then. Collective, in the same order on all ranks."""
        if _plans.pop(self._number, None):
            _settle()
            _handler().halocline_jax_remove(self._number)
            if self._platform == "cuda":
                _recorded.append(self._plan)
            else:
                self._plan.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.close()

    def __repr__(self) -> str:
        return repr(self._plan).replace("halocline.Exchange", "halocline.jax.exchange")


def _require_threads() -> None:
    from mpi4py import MPI

    if MPI.Query_thread() < MPI.THREAD_SERIALIZED:
        raise UsageError(
            "XLA calls exchanges from threads of its own, and MPI was started for one thread only; start it with "
            "MPI_THREAD_MULTIPLE, as mpi4py does by default"
        )


def exchange(
    grid: Grid,
    like: Any,
    *,
    widths: int | Sequence[int | Sequence[int]] | None = None,
    neighbours: str = "all",
    transport: str = "auto",
    same_order: bool = True,
    ordered: bool = True,
) -> ArrayExchange:
    """Plans the exchange of arrays like `like`: an array of JAX, a jax.ShapeDtypeStruct, or a list of these, which then
    travel in one message. The options are those of Exchange, and `ordered`: False tells that each exchange of the
    program needs the result of the one before, as in a loop over time steps. A call of a compiled function is queued at
    once then; ordered, it waits for the exchanges of the call before.

    Collective. The plan exists until close() or the end of the process: functions that were compiled with it may run
    as long. UsageError if the ranks' plans differ or an array does not fit the grid.
    """
    return ArrayExchange(
        grid, like, ordered, widths=widths, neighbours=neighbours, transport=transport, same_order=same_order
    )
