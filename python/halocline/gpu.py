# SPDX-License-Identifier: Apache-2.0
"""The GPU of a rank."""

from __future__ import annotations

import dataclasses
from typing import Any

from halocline import _c
from halocline._mpi import handle_of


@dataclasses.dataclass(frozen=True)
class Gpu:
    """What bind_gpu() chose."""

    ordinal: int  #: CUDA's number among the GPUs that this process sees
    ranks_on_gpu: int  #: including this one
    name: str
    uuid: str


def bind_gpu(comm: Any = None) -> Gpu:
    """Gives each rank of `comm` (mpi4py's world by default) one of the GPUs that it sees and makes that GPU current
    for this thread. Call it before the first call of CuPy or PyTorch, and give them its ordinal:
    `cupy.cuda.Device(gpu.ordinal).use()`, `torch.cuda.set_device(gpu.ordinal)`. Collective. UnavailableError, on
    every rank, if a rank sees no GPU."""
    info = _c.DeviceInfo()
    _c.interface().bind_device(handle_of(comm), info)
    return Gpu(info.ordinal, info.ranks_on_gpu, info.name.decode(), info.uuid.decode())
