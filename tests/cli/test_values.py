# SPDX-License-Identifier: Apache-2.0
"""Results: the documented figures, and the same bits for every way to compute them."""

import itertools
import json
import os
import random

import numpy as np
import pytest
from pytest import approx

import expected
from command import run, solve_json

LAPLACE = {"sweeps": 199, "sum": approx(13630.1557717833, rel=1e-12),
           "checksum": "528098ec285fe4a5", "converged": True}


def parts(report, names):
    return {name: report[name] for name in names}


def test_smoke_laplace_stops_and_verifies(tmp_path):
    end = run("solve", "laplace", "--cells", "256x128", "--ranks", "3", "--verify", "--json",
              "r.json", cwd=tmp_path)
    assert end.code == 0 and end.err == ""
    report = json.loads((tmp_path / "r.json").read_text())
    assert parts(report, LAPLACE) == LAPLACE
    assert report["verified"] is True
    history = report["norm_history"]
    assert [sweep for sweep, _ in history] == list(range(199))
    assert history[-1][1] == approx(0.049954430, abs=5e-10)
    assert history[-2][1] > 0.05
    assert "528098ec285fe4a5" in end.out


def test_laplace_that_never_stops():
    report = solve_json("laplace", "--cells", "64x64", "--tolerance", "0", "--ranks", "2")
    norms = dict(report["norm_history"])
    assert norms[0] == approx(0.940379538, abs=5e-10)
    assert norms[100] == approx(0.062640527, abs=5e-10)
    assert norms[525] == approx(0.012472773, abs=5e-10)
    assert report["sweeps"] == 526 and not report["converged"]
    assert report["sum"] == approx(767.048512190739, rel=1e-12)
    assert report["checksum"] == "3b97bf2af2c55464"


def test_jacobi_norms():
    report = solve_json("jacobi", "--cells", "254x254", "--ranks", "2")
    norms = dict(report["norm_history"])
    assert report["sweeps"] == 1000 and report["norm"] == "l2" and report["precision"] == "f32"
    for sweep, norm in {0: 3.992180, 100: 0.110318, 500: 0.031196, 999: 0.017210}.items():
        assert norms[sweep] == approx(norm, abs=1e-6), sweep


@pytest.mark.slow
def test_jacobi_norms_of_the_large_lab_grid():
    report = solve_json("jacobi", "--cells", "510x16382", "--sweeps", "901", "--norm-every", "100",
                        "--ranks", "2", timeout=300)
    history = report["norm_history"]
    assert [sweep for sweep, _ in history] == list(range(0, 901, 100))
    norms = dict(history)
    for sweep, norm in {0: 31.999023, 100: 0.897983, 200: 0.535684, 500: 0.269961,
                        900: 0.173818}.items():
        assert norms[sweep] == approx(norm, abs=1e-6), sweep


@pytest.mark.parametrize("cells, sweeps, ranks", [
    ((9,), 3, 1), ((9,), 3, 4), ((1,), 5, 1), ((101,), 40, 3), ((33, 17), 25, 4),
    ((13, 11, 7), 12, 3)])
def test_heat_has_its_closed_form(cells, sweeps, ranks):
    report = solve_json("heat", "--cells", "x".join(map(str, cells)), "--sweeps", sweeps,
                        "--ranks", ranks)
    assert report["sum"] == approx(expected.heat(cells, sweeps).sum(), rel=1e-12)


def test_heat_by_default_and_with_parameters():
    by_default = solve_json("heat")
    assert by_default["cells"] == [9] and by_default["sweeps"] == 3
    assert by_default["sum"] == approx(expected.heat((9,)).sum(), rel=1e-12)
    changed = solve_json("heat", "--set", "dt=5e-3", "--set", "alpha=1.5", "--set", "dx=0.25",
                         "--cells", "21x9")
    assert changed["sum"] == approx(
        expected.heat((21, 9), alpha=1.5, dt=5e-3, dx=0.25).sum(), rel=1e-12)


@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
def test_star7_is_the_same_for_all_ranks(ranks):
    report = solve_json("star7", "--cells", "16x12x8", "--sweeps", "5", "--ranks", ranks)
    assert report["checksum"] == "dee8e0b50a85dd37"
    assert report["sum"] == approx(764.566981014151, rel=1e-12)


@pytest.mark.parametrize("words, solution", [
    pytest.param("laplace --cells 37x23 --precision f32 --ranks 4 --tolerance 0.06",
                 lambda: expected.laplace((37, 23), tolerance=0.06, dtype=np.float32),
                 id="f32"),
    pytest.param("laplace --cells 13x11x9 --ranks 6 --seed 7 --tolerance 0.05",
                 lambda: expected.laplace((13, 11, 9), seed=7), id="3-D"),
    pytest.param("laplace --cells 19x14x12 --precision f32 --ranks 8 --process-grid 2x2x2 "
                 "--halo-depth 3 --sweeps 20 --tolerance 0",
                 lambda: expected.laplace((19, 14, 12), 20, 0, np.float32), id="3-D-deep-f32"),
    pytest.param("star7 --cells 10x9x14 --precision f32 --ranks 3 --halo-depth 2 --sweeps 9 "
                 "--norm max",
                 lambda: expected.star7((10, 9, 14), 9, np.float32), id="star7-deep-f32"),
    pytest.param("star7 --cells 6x5x7 --ranks 2 --sweeps 6 --seed 99 --set centre=0.25 "
                 "--set side=0.125 --norm max",
                 lambda: expected.star7((6, 5, 7), 6, seed=99, centre=0.25, side=0.125),
                 id="star7-parameters"),
    pytest.param("laplace --cells 1x50 --ranks 5 --sweeps 30",
                 lambda: expected.laplace((1, 50), 30), id="one-cell-wide"),
])
def test_fields_and_norms_are_those_of_numpy(words, solution):
    report, solution = solve_json(*words.split()), solution()
    assert report["sweeps"] == solution.sweeps
    assert [norm for _, norm in report["norm_history"]] == solution.norms  # bitwise
    assert report["checksum"] == solution.checksum
    assert report["sum"] == approx(solution.sum, rel=1e-12)


def test_norms_every_few_sweeps_and_of_other_kinds():
    solution = expected.laplace((40, 30), sweeps=100, tolerance=None, norm="l2")
    tolerance = solution.norms[60] * 1.0001
    stop = 63  # the first multiple of 7 from 60 on
    report = solve_json("laplace", "--cells", "40x30", "--sweeps", "100", "--norm", "l2",
                        "--norm-every", "7", "--tolerance", tolerance, "--ranks", "3")
    assert report["sweeps"] == stop + 1 and report["converged"]
    assert [sweep for sweep, _ in report["norm_history"]] == list(range(0, stop + 1, 7))
    for sweep, norm in report["norm_history"]:
        assert norm == approx(solution.norms[sweep], rel=1e-12)


def test_the_last_sweep_has_a_norm():
    report = solve_json("laplace", "--cells", "20x10", "--sweeps", "12", "--norm-every", "5")
    assert [sweep for sweep, _ in report["norm_history"]] == [0, 5, 10, 11]
    without = solve_json("laplace", "--cells", "20x10", "--sweeps", "12", "--norm", "none")
    assert without["norm_history"] == [] and without["norm"] == "none"
    assert without["checksum"] == report["checksum"]


@pytest.mark.parametrize("ranks, threads", [(1, 2), (1, 3), (2, 2), (2, 7)])
def test_threads_of_a_large_grid(ranks, threads):
    solution = expected.laplace((700, 501), sweeps=12, tolerance=None, norm="l2")
    report = solve_json("laplace", "--cells", "700x501", "--sweeps", "12", "--norm", "l2",
                        "--ranks", ranks, "--threads", threads)
    assert report["checksum"] == solution.checksum
    assert [norm for _, norm in report["norm_history"]] == approx(solution.norms, rel=1e-12)


def test_no_sweeps_leave_the_start():
    report = solve_json("laplace", "--cells", "20x10", "--sweeps", "0", "--ranks", "2")
    assert report["sweeps"] == 0 and report["norm_history"] == []
    assert report["checksum"] == expected.checksum(expected.noise((20, 10)))


def test_cells_per_rank():
    report = solve_json("laplace", "--cells-per-rank", "20x10", "--ranks", "3", "--sweeps", "1")
    assert np.prod(report["cells"]) == 600
    gridded = solve_json("laplace", "--cells-per-rank", "20x10", "--ranks", "4", "--sweeps", "1",
                         "--process-grid", "2x2")
    assert gridded["cells"] == [40, 20]


def test_a_norm_that_is_not_finite_ends_the_run():
    report = solve_json("star7", "--cells", "8x8x8", "--set", "centre=1e200", "--norm", "max",
                        "--sweeps", "50", "--ranks", "2", code=1)
    assert report["sweeps"] < 5 and not report["converged"]
    assert report["norm_history"][-1][1] is None
    assert any("diverged" in note for note in report["notes"])


@pytest.mark.parametrize("norm", ["max", "l2"])
def test_an_infinite_norm_is_no_difference(norm):
    report = solve_json("star7", "--cells", "8x8x8", "--set", "centre=1e308", "--norm", norm,
                        "--sweeps", "50", "--ranks", "2", "--verify", code=1)
    assert report["norm_history"][-1][1] is None
    assert report["verified"] is True
    assert any("diverged" in note for note in report["notes"])


def test_verify_allows_for_the_order_of_many_rows():
    assert solve_json("jacobi", "--cells", "1x3000000", "--sweeps", "6", "--ranks", "2",
                      "--threads", "1", "--verify")["verified"] is True


# Ways to compute. Process grids come as words, "3" leaves the choice to the command.
FACTORS = {
    "layout": ["1", "2", "2x1", "3", "2x2", "3x2", "8", "2x4"],
    "transport": ["auto", "mpi", "shared"],
    "schedule": ["auto", "sequential", "overlap"],
    "halo-depth": ["1", "2", "3", "5"],
    "threads": ["1", "2", "3"],
    "simd": ["auto"],  # and those of the machine
    "precision": ["f64", "f32"],
    "backend": ["cpu", "reference"],  # GPUs have other transports: test_gpu.py
}


def pairwise(factors, seed=2024):
    """Combinations in which every pair of values of two factors occurs at least once."""
    choose = random.Random(seed)
    names = list(factors)
    open_pairs = {((a, x), (b, y)) for a, b in itertools.combinations(names, 2)
                  for x in factors[a] for y in factors[b]}
    cases = []
    while open_pairs:
        case = dict(choose.choice(sorted(open_pairs)))
        for name in choose.sample(names, len(names)):
            if name in case:
                continue

            def gain(value):
                trial = {**case, name: value}
                return sum(all(trial.get(n) == v for n, v in pair) for pair in open_pairs)

            values = choose.sample(factors[name], len(factors[name]))
            case[name] = max(values, key=gain)
        open_pairs -= set(itertools.combinations([(n, case[n]) for n in names], 2))
        cases.append(case)
    return cases


def product(factors):
    return [dict(zip(factors, values)) for values in itertools.product(*factors.values())]


def words_of(case):
    sizes = [int(part) for part in case["layout"].split("x")]
    words = ["--ranks", int(np.prod(sizes))]
    if len(sizes) > 1:
        words += ["--process-grid", case["layout"]]
    for name in case:
        if name != "layout":
            words += [f"--{name}", case[name]]
    return words


@pytest.fixture(scope="module")
def ways(simd_levels):
    factors = {**FACTORS, "simd": simd_levels}
    if os.environ.get("HALOCLINE_TEST_ALL_WAYS"):  # some hours
        return product(factors)
    return pairwise(factors)


@pytest.mark.slow
def test_every_way_to_compute_gives_the_same_bits(ways):
    f32 = expected.laplace((256, 128), dtype=np.float32)
    wanted = {"f64": LAPLACE,
              "f32": {"sweeps": f32.sweeps, "sum": approx(f32.sum, rel=1e-12),
                      "checksum": f32.checksum, "converged": True}}
    norms = {}
    wrong = []
    for case in ways:
        report = solve_json("laplace", "--cells", "256x128", *words_of(case))
        first = norms.setdefault(case["precision"], report["norm_history"])
        ran = {"halo_depth": int(case["halo-depth"]), "threads_per_rank": int(case["threads"])}
        if case["schedule"] != "auto":
            ran["schedule"] = case["schedule"]
        ran["backend"] = case["backend"]
        if case["transport"] != "auto" and report["ranks"] > 1:
            ran["transport"] = {"same-node": case["transport"]}
        if case["simd"] != "auto" and report["backend"] == "cpu":
            ran["simd"] = case["simd"]
        if (parts(report, LAPLACE) != wanted[case["precision"]]
                or report["norm_history"] != first or parts(report, ran) != ran):
            wrong.append((case, report["checksum"], report["sweeps"], parts(report, ran)))
    assert not wrong, f"{len(wrong)} of {len(ways)}"


def test_smoke_ways_to_compute(simd_levels):
    for words in ("--ranks 2 --backend cpu --transport mpi --schedule overlap",
                  "--ranks 4 --backend cpu --transport shared --halo-depth 3",
                  f"--threads 2 --backend cpu --simd {simd_levels[-1]}", "--backend reference",
                  "--ranks 3"):
        report = solve_json("laplace", "--cells", "256x128", *words.split())
        assert parts(report, LAPLACE) == LAPLACE, words
