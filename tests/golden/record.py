#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the command in many ways and keeps what comes out in runs.json, for test_golden.py.

usage: record.py BINARY

What is kept is the same on every machine and with every MPI: no time, no name, nothing that a GPU
could change. Record again only where a result is meant to change or a run is added, and read the
difference: every line of it is a promise given up.
"""

import concurrent.futures
import hashlib
import json
import pathlib
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
RUNS = HERE / "runs.json"
sys.path.append(str(HERE.parent / "cli"))
from command import run  # noqa: E402

# Even, odd and mixed. Parts of 6 ranks along any axis can hold halos that are 3 cells deep. Libraries
# differ in a sine's last bit where it is near the middle between two numbers: by sizes with such sines,
# as 19 along jacobi's y and 101 in heat, runs would have other bits elsewhere.
CELLS = {"laplace 2": ["24x20", "25x19", "18x31"], "jacobi 2": ["24x42", "31x25", "18x25"],
         "laplace 3": ["18x20x18", "19x21x23", "18x19x20"], "heat 1": ["18", "21", "24"],
         "heat 2": ["24x18", "21x21", "18x21"], "heat 3": ["18x24x18", "21x21x21", "18x21x24"],
         "star7 3": ["18x20x18", "19x21x23", "18x19x20"]}
# Every pair of these occurs.
FACTORS = {
    "problem": [*CELLS],
    "cells": [0, 1, 2],
    "precision": ["f64", "f32"],
    "norm": ["max", "l2", "none", "max --norm-every 3", "l2 --norm-every 4"],
    "end": ["--sweeps 5", "--sweeps 8", "--tolerance"],
    "ranks": [1, 2, 3, 4, 6],
    "process grid": ["", "along x", "along the last axis", "blocks"],
    "halo-depth": [1, 2, 3],
    "schedule": ["auto", "sequential", "overlap"],
    "transport": ["auto", "mpi", "shared"],
    "backend": ["cpu", "reference"],
    "simd": ["auto", "scalar"],
    "threads": [1, 2, 3],
}
# For the maximum norm and for l2: reached after some sweeps; by heat after the first or never.
TOLERANCES = {"laplace": ["0.15", "2"], "jacobi": ["0.03", "0.3"], "heat": ["1e-3", "1e-2"],
              "star7": ["0.02", "0.3"]}

# `start.npy` and `start32.npy` lie where these run.
MORE = """
solve heat --backend cpu
solve laplace --cells 48x32 --backend cpu
solve laplace --cells 1x50 --ranks 5 --sweeps 12 --backend cpu
solve laplace --cells 2x3 --ranks 2 --sweeps 4 --backend cpu
solve laplace --cells 20x10 --sweeps 0 --ranks 2 --backend cpu
solve laplace --cells 20x10 --sweeps 12 --norm-every 5 --backend cpu
solve laplace --cells 40x30 --sweeps 60 --tolerance 0 --norm l2 --norm-every 7 --backend cpu
solve laplace --cells 130x7 --sweeps 9 --precision f32 --backend cpu
solve laplace --cells 7x130 --sweeps 9 --ranks 2 --process-grid 1x2 --halo-depth 5 --backend cpu
solve laplace --cells 33x9 --seed 7 --sweeps 6 --backend cpu
solve laplace --cells 33x9 --seed 0 --sweeps 6 --ranks 2 --backend reference
solve laplace --cells 9x8x7 --seed 4294967297 --sweeps 6 --precision f32 --backend cpu
solve laplace --cells-per-rank 12x10 --ranks 3 --sweeps 5 --backend cpu
solve laplace --cells-per-rank 12x10 --ranks 4 --process-grid 2x2 --sweeps 5 --backend cpu
solve laplace --initial start.npy --sweeps 5 --backend cpu
solve laplace --initial start.npy --sweeps 5 --ranks 3 --halo-depth 2 --backend cpu
solve laplace --initial start32.npy --precision f32 --sweeps 5 --backend cpu
solve heat --initial start.npy --cells 14x11 --sweeps 5 --ranks 2 --backend cpu
solve jacobi --initial start32.npy --sweeps 5 --backend reference
solve laplace --initial start.npy --sweeps 5 --output out.npy --backend cpu
solve laplace --cells 9x8x7 --sweeps 3 --ranks 2 --output out.npy --precision f32 --backend cpu
solve laplace --cells 30x20 --sweeps 9 --ranks 2 --verify --backend cpu
solve star7 --cells 8x9x10 --sweeps 4 --verify --backend reference
solve laplace --cells 30x20 --sweeps 9 --ranks 2 --baseline --backend cpu
solve laplace --cells 30x20 --sweeps 9 --ranks 2 --profile --backend cpu --transport mpi
solve laplace --cells 30x20 --sweeps 9 --profile --backend cpu
solve laplace --cells 30x20 --sweeps 9 --ranks 2 --transport same-node=mpi --backend cpu
solve star7 --cells 8x8x8 --sweeps 3 --ranks 2 --transport self=mpi,same-node=shared --backend cpu
solve laplace --cells 30x20 --sweeps 9 --memory host --graph off --backend cpu
solve laplace --cells 96x80 --sweeps 30 --tolerance 0 --ranks 2 --process-grid 2x1 --tune-budget 60 --backend cpu
solve heat --cells 21x9 --set dt=5e-3 --set alpha=1.5 --set dx=0.25 --sweeps 7 --backend cpu
solve heat --cells 12x12x12 --set alpha=0.5 --sweeps 7 --ranks 2 --precision f32 --backend cpu
solve heat --cells 1 --sweeps 5 --backend cpu
solve heat --cells 21 --sweeps 40 --ranks 4 --norm l2 --backend cpu
solve star7 --cells 6x5x7 --ranks 2 --sweeps 6 --seed 99 --set centre=0.25 --set side=0.125 --norm max --backend cpu
solve star7 --cells 8x8x8 --set centre=1e200 --norm max --sweeps 50 --backend cpu
solve jacobi --cells 40x25 --tolerance 0.2 --ranks 2 --backend cpu
solve jacobi --cells 30x42 --sweeps 20 --precision f64 --norm max --backend cpu
plan laplace --cells 64x48 --ranks 4
plan laplace --cells 100x3 --ranks 8 --halo-depth 2
plan laplace --cells 2x2
plan star7 --cells 12x16x20 --precision f32 --ranks 6
plan jacobi --cells 40x30 --ranks 2
plan heat --cells 24x24 --halo-depth 2 --ranks 4
plan heat --cells-per-rank 200x200x200 --ranks 8
plan star7 --cells 512x512x512 --ranks 64 --process-grid 4x4x4
plan laplace --cells 64x48 --ranks 4 --process-grid 3x2
plan laplace --ranks 0
plan telepathy
solve
solve nothing
solve heat extra
solve laplace --cells 12y7
solve laplace --cells 0x5
solve laplace --cells 16
solve star7 --cells 4x4 --ranks 2
solve laplace --cells 8x8 --cells-per-rank 4x4
solve laplace --cells 1e9x1e9 --backend cpu
solve laplace --sweeps -1
solve laplace --tolerance nan
solve laplace --tolerance 1 --norm none
solve laplace --norm most
solve laplace --norm-every 0
solve laplace --precision f16
solve laplace --seed -1
solve heat --set speed=1
solve heat --set dt=0.01
solve heat --set dt
solve laplace --ranks 0
solve laplace --cells 8x8 --ranks 65
solve laplace --cells 8x8 --ranks 4 --process-grid 3x1
solve laplace --cells 8x2 --ranks 3 --process-grid 1x3
solve laplace --cells 8x8 --ranks 4 --halo-depth 5
solve laplace --halo-depth 0
solve heat --threads -1
solve laplace --cells 8x8 --backend gpu
solve laplace --cells 8x8 --memory device --backend cpu
solve laplace --cells 8x8 --simd mmx
solve laplace --cells 8x8 --transport pigeon --ranks 2
solve laplace --cells 8x8 --transport self --ranks 2 --backend cpu
solve laplace --cells 8x8 --transport peer --ranks 2 --backend cpu
solve laplace --cells 8x8 --schedule lazy
solve laplace --cells 8x8 --schedule fused --backend cpu
solve laplace --cells 8x8 --schedule fused --ranks 2 --backend cpu
solve laplace --cells 8x8 --schedule persistent --backend cpu
solve laplace --cells 8x8 --schedule persistent --ranks 2 --backend reference
solve heat --graph on --backend cpu
solve heat --tune-budget -1
solve heat --wait-limit -1
solve heat --output u.txt
solve heat --json nowhere/r.json
solve heat --initial missing.npy --cells 5x4
solve heat --initial start.npy --cells 5x4
solve heat --initial start32.npy
"""


def process_grid(kind, ranks, axes):
    if kind == "along x":
        sizes = [ranks, 1, 1][:axes]
    elif kind == "along the last axis":
        sizes = [1] * (axes - 1) + [ranks]
    else:
        columns = {4: 2, 6: 3}.get(ranks, 1)
        sizes = ([1] + [columns, ranks // columns])[-axes:] if axes > 1 else [ranks]
    return "x".join(map(str, sizes))


def words_of(case):
    problem, axes = case["problem"].split()
    words = ["solve", problem, "--cells", CELLS[case["problem"]][case["cells"]], "--norm", case["norm"]]
    if case["end"] != "--tolerance":
        words += [case["end"], *([] if case["norm"] == "none" else ["--tolerance 0"])]
    elif case["norm"] == "none":
        words += ["--sweeps 11"]
    else:
        words += ["--sweeps 40 --tolerance", TOLERANCES[problem]["l2" in case["norm"]]]
    if case["ranks"] > 1:
        words += ["--ranks", case["ranks"]]
    if case["process grid"]:
        words += ["--process-grid", process_grid(case["process grid"], case["ranks"], int(axes))]
    for name in ("precision", "halo-depth", "schedule", "transport", "backend", "simd", "threads"):
        words += [f"--{name}", case[name]]
    return " ".join(map(str, words))


def all_runs():
    """Pairs of values meet several times, with others beside them. Many ranks take longest."""
    from test_values import pairwise
    cases = [*pairwise(FACTORS, 1), *pairwise(FACTORS, 2), *pairwise({**FACTORS, "ranks": [1, 2]}, 3)]
    return list(dict.fromkeys([*map(words_of, cases), *MORE.strip().splitlines()]))


def keys_in(value, path=""):
    """The path of every key, `devices[].name`."""
    if isinstance(value, dict):
        for key, inner in value.items():
            name = f"{path}.{key}" if path else key
            yield name
            yield from keys_in(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from keys_in(inner, f"{path}[]")


def joined(sizes):
    return "x".join(map(str, sizes))


def parts_of_solve(report):
    """Of many norms a few."""
    history = report["norm_history"]
    few = history if len(history) <= 4 else [history[i * (len(history) - 1) // 3] for i in range(4)]
    parts = {name: report[name] for name in
             ("checksum", "sum", "sweeps", "converged", "norm")}
    return {**parts, "norms": few, "norm_count": len(history),
            "process_grid": joined(report["process_grid"]),
            "halo": [report["halo"][name] for name in ("messages", "bytes", "exchanges")]}


def parts_of_plan(report):
    return {"process_grids": [[joined(way["process_grid"]), joined(way["cells_per_rank"]),
                               *(way[name] for name in ("messages", "bytes", "redundant_updates"))]
                              for way in report["process_grids"]],
            "refused": [joined(way["process_grid"]) for way in report["refused"]]}


def observe(words, binary, folder):
    """What comes of one run, of a refused one its exit code; all keys of its report; what it says."""
    folder.mkdir()
    start = np.arange(14 * 11) * 37 % 64 / 64
    np.save(folder / "start.npy", start.reshape(11, 14))
    np.save(folder / "start32.npy", start.reshape(11, 14).astype("f4"))
    asked = [] if "--json" in words else ["--json", "-"]
    end = run(*words.split(), *asked, program=(binary,), cwd=folder,
              env={"XDG_CACHE_HOME": str(folder)})
    seen = {"run": words, "code": end.code}
    if not end.out.startswith("{"):
        return seen, set(), end.err
    report = json.loads(end.out)
    seen |= parts_of_solve(report) if words.startswith("solve") else parts_of_plan(report)
    if "--verify" in words:
        seen["verified"] = report["verified"]
    if "--schedule" in words and "--schedule auto" not in words:
        seen["schedule"] = report["schedule"]
    if "--transport" in words and "--transport auto" not in words:
        seen["transport"] = report["transport"]
    if (folder / "out.npy").exists():
        seen["output"] = hashlib.sha256((folder / "out.npy").read_bytes()).hexdigest()[:16]
    return seen, set(keys_in(report)), end.err


class Lanes:
    """Runs of one process beside runs of several: no two launchers share the machine."""

    def __init__(self, all_words, binary, folder):
        self.lanes = [concurrent.futures.ThreadPoolExecutor(1) for _ in range(2)]
        self.ends = {words: self.lanes["--ranks" in words].submit(observe, words, binary,
                                                                  folder / str(at))
                     for at, words in enumerate(all_words)}

    def __enter__(self):
        return self.ends

    def __exit__(self, *_):
        for lane in self.lanes:
            lane.shutdown(cancel_futures=True)


def main(binary):
    with tempfile.TemporaryDirectory() as folder, Lanes(all_runs(), pathlib.Path(binary).resolve(),
                                                        pathlib.Path(folder)) as ends:
        seen = [end.result() for end in ends.values()]
    kinds = {}
    for result, keys, _ in seen:
        if keys:
            kind = result["run"].split()[0]
            kinds[kind] = kinds.get(kind, keys) & keys
    lines = []
    for result, keys, _ in seen:
        more = sorted(keys - kinds[result["run"].split()[0]]) if keys else []
        lines.append(json.dumps({**result, **({"more_keys": more} if more else {})}))
    kept = {kind: sorted(keys) for kind, keys in sorted(kinds.items())}
    RUNS.write_text('{"keys": ' + json.dumps(kept, indent=1) + ',\n"runs": [\n'
                    + ",\n".join(lines) + "\n]}\n")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
