# SPDX-License-Identifier: Apache-2.0
"""Halos between the ranks of a structured-grid code, for your own NumPy, CuPy and PyTorch arrays,
and solves of stencil problems.

    import numpy as np
    import halocline as hc

    grid = hc.Grid((512, 512), periodic=True)   # on all ranks of the MPI world
    u, v = grid.fields(2, "float64")            # this rank's part, with its halo
    halo = hc.Exchange(grid, u)                 # a plan for arrays like u
    for step in range(100):
        halo.run(u)
        v[grid.inner] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        u, v = v, u

Axes are in the order of the array's: the last one varies fastest in memory. Importing does nothing; the first grid
starts MPI through mpi4py. All ranks make the same calls in the same order. For arrays of JAX see halocline.jax.
"""

from halocline.command import Report, bench, doctor, plan
from halocline.errors import (
    CommunicationError,
    DeviceError,
    Error,
    InternalError,
    ResourceError,
    UnavailableError,
    UsageError,
)
from halocline.exchange import Exchange
from halocline.gpu import Gpu, bind_gpu
from halocline.grid import Grid
from halocline.launcher import launch
from halocline.problem import Problem
from halocline.result import Result
from halocline.solver import Progress, check, solve

__all__ = [
    "CommunicationError",
    "DeviceError",
    "Error",
    "Exchange",
    "Gpu",
    "Grid",
    "InternalError",
    "Problem",
    "Progress",
    "Report",
    "ResourceError",
    "Result",
    "UnavailableError",
    "UsageError",
    "bench",
    "bind_gpu",
    "check",
    "doctor",
    "launch",
    "plan",
    "solve",
]
