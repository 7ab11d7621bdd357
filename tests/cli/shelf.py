# SPDX-License-Identifier: Apache-2.0
"""The problems of problems/, each as small as its halos and eight parts allow."""

import pathlib

from pytest import approx

PROBLEMS = pathlib.Path(__file__).resolve().parents[2] / "problems"

SHELF = {
    "acoustic": "--cells 100x98 --sweeps 5",  # four cells far, levels handed on, a coefficient
    "advection": "--cells 101 --sweeps 9",  # one axis, farther on one side
    "allen_cahn": "--cells 40x33 --sweeps 5",
    "anisotropic": "--cells 40x34 --sweeps 5",  # three coefficients, corners
    "box125": "--cells 27x25x26 --sweeps 3",  # rings carried from layer to layer
    "box27": "--cells 13x15x14 --sweeps 3",
    "burgers": "--cells 53 --sweeps 9",
    "cahn_hilliard": "--cells 50x49 --sweeps 5",  # differences of differences
    "fitzhugh_nagumo": "--cells 36x29 --sweeps 5",  # a field of which no neighbour is read
    "gray_scott": "--cells 36x25 --sweeps 7",  # two fields
    "heat": "--cells 29x31 --sweeps 5",
    "heat_source": "--cells 30x27 --sweeps 5",
    "jacobi": "--cells 37x26 --sweeps 9",  # sides that differ by cell, sums of squares
    "laplace": "--cells 14x13x15 --sweeps 5 --tolerance 0",
    "life": "--cells 33x30 --sweeps 9",  # choices
    "poisson": "--cells 31x31 --sweeps 9",
    "shallow_water": "--cells 50x51 --sweeps 5",  # three fields, of which one goes first
    "smoother27": "--cells 14x13x15 --sweeps 4",
    "star13": "--cells 27x25x26 --sweeps 3",
    "star25": "--cells 26x50x27 --sweeps 3",  # four cells far in three axes
    "star7": "--cells 13x15x14 --sweeps 4",
    "wave_sponge": "--cells 33x34 --sweeps 7",
}


def assert_same(report, expected):
    """What every way to compute has in common. Sums are added up rank by rank."""
    assert {name: facts["checksum"] for name, facts in report["fields"].items()} == {
        name: facts["checksum"] for name, facts in expected["fields"].items()}
    for name, facts in expected["fields"].items():
        assert report["fields"][name]["sum"] == approx(facts["sum"], rel=1e-9, abs=1e-9), name
    norms, wanted = ([list(entry) for entry in part["norm_history"]] for part in (report, expected))
    if expected["norm"] == "l2":
        wanted = [[sweep, approx(norm, rel=1e-12)] for sweep, norm in wanted]
    assert norms == wanted
