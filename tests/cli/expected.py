# SPDX-License-Identifier: Apache-2.0
"""The built-in problems in NumPy: what the command's results are compared with. Shapes are x
first, as on the command line; arrays are (z,) y, x."""

from typing import NamedTuple

import numpy as np


class Solution(NamedTuple):
    sweeps: int
    norms: list  # of every sweep
    field: np.ndarray

    @property
    def sum(self):
        return float(self.field.sum(dtype=np.float64))

    @property
    def checksum(self):
        return checksum(self.field)


def mix(z):
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def checksum(field):
    values = field.ravel() + field.dtype.type(0)  # -0.0 counts as 0.0
    bits = values.view(np.uint32 if values.itemsize == 4 else np.uint64).astype(np.uint64)
    index = np.arange(1, values.size + 1, dtype=np.uint64)
    return f"{int(mix(bits ^ mix(index)).sum(dtype=np.uint64)):016x}"


def noise(cells, dtype=np.float64, seed=12345):
    index = np.arange(1, np.prod(cells) + 1, dtype=np.uint64)
    z = mix(np.uint64(seed) + index * np.uint64(0x9E3779B97F4A7C15))
    return ((z >> np.uint64(11)) * 2.0**-53).reshape(cells[::-1]).astype(dtype)


def neighbours(u, periodic):
    """Lower and upper neighbours along x, y and z, of arrays padded by one cell."""
    padded = np.pad(u, 1, mode="wrap" if periodic else "constant")
    inner = [slice(1, -1)] * u.ndim
    pairs = []
    for axis in reversed(range(u.ndim)):
        lower, upper = list(inner), list(inner)
        lower[axis], upper[axis] = slice(0, -2), slice(2, None)
        pairs.append((padded[tuple(lower)], padded[tuple(upper)]))
    return pairs


def iterate(update, field, sweeps, tolerance=None, norm="max"):
    norms = []
    for _ in range(sweeps):
        new = update(field)
        change = (new - field).astype(np.float64) if norm == "l2" else new - field
        norms.append(float(np.sqrt((change**2).sum()) if norm == "l2" else np.abs(change).max()))
        field = new
        if tolerance is not None and norms[-1] <= tolerance:
            break
    return Solution(len(norms), norms, field)


def laplace(cells, sweeps=526, tolerance=0.05, dtype=np.float64, seed=12345, norm="max",
            start=None):
    weight = dtype(0.25) if len(cells) == 2 else dtype(1) / dtype(6)

    def update(u):
        sums = [lower + upper for lower, upper in neighbours(u, periodic=False)]
        total = sums[0] + sums[1]
        return weight * (total if len(sums) == 2 else total + sums[2])

    start = noise(cells, dtype, seed) if start is None else start
    return iterate(update, start, sweeps, tolerance, norm)


def star7(cells, sweeps, dtype=np.float64, seed=12345, centre=0.4, side=0.1, start=None):
    def update(u):
        x, y, z = (lower + upper for lower, upper in neighbours(u, periodic=True))
        return dtype(centre) * u + dtype(side) * ((x + y) + z)

    return iterate(update, noise(cells, dtype, seed) if start is None else start, sweeps)


def heat(cells, sweeps=3, alpha=2.0, dt=1e-4, dx=0.1):
    """The exact discrete solution, up to rounding."""
    r = alpha * dt / dx**2
    field, decay = np.ones(()), 0.0
    for n in cells:
        field = np.multiply.outer(np.sin(np.pi * np.arange(1, n + 1) / (n + 1)), field)
        decay += np.sin(np.pi / (2 * (n + 1))) ** 2
    return field * (1 - 4 * r * decay) ** sweeps
