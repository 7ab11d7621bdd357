# SPDX-License-Identifier: Apache-2.0
"""What the JSON reports of halocline-lab must have."""

import jsonschema
import numpy as np
from pytest import approx

from schema import (AMOUNT, COUNT, CPU, GPU, POSITIVE, RANKS, TEXT, TIME, TRANSPORTS, check_bench_layout,
                    list_of, optional, record)

BENCH_COPY = record(
    bench={"const": "copy"},
    ranks=POSITIVE,
    nodes=POSITIVE,
    devices=list_of({"anyOf": [CPU, GPU]}, 1),
    mpi=TEXT,
    rate=TEXT,
    cases=list_of(record(
        **{"from": {"enum": ["host", "pinned", "device"]}},
        to={"enum": ["host", "pinned", "device", "next device"]}, bytes=POSITIVE,
        verified={"const": True}, repetitions=POSITIVE, min_us=TIME, median_us=TIME, p99_us=TIME,
        gb_per_s=TIME), 1),
    notes=list_of(TEXT),
)
BENCH_FIRST_USE = record(
    bench={"const": "first-use"},
    ranks=POSITIVE,
    nodes=POSITIVE,
    devices=list_of({"anyOf": [CPU, GPU]}, 1),
    mpi=TEXT,
    place_seconds=AMOUNT,
    steady=TEXT,
    cases=list_of(record(
        memory={"enum": ["host", "pinned", "device", "managed", "system"]}, transport=TEXT,
        bytes=POSITIVE, verified={"const": True}, open_us=TIME, exchanges_us=list_of(TIME, 10),
        steady_us=TIME, steady_from=POSITIVE, extra_us=AMOUNT), 1),
    notes=list_of(TEXT),
)
ORDERS = ["send-first", "ordered", "irecv-send", "irecv-isend"]
BENCH_MESH = record(
    bench={"const": "mesh"},
    ranks=POSITIVE,
    nodes=POSITIVE,
    process_grid=list_of(POSITIVE, 2, 2),
    periodic=list_of({"type": "boolean"}, 2, 2),
    mpi=TEXT,
    messages=POSITIVE,
    cases=list_of(record(
        bytes=POSITIVE, order={"enum": ORDERS}, deadlock={"type": "boolean"},
        circle=optional(RANKS), others_stuck=optional(COUNT), verified=optional({"const": True}),
        repetitions=COUNT, min_us=optional(TIME), median_us=optional(TIME), p99_us=optional(TIME),
        relative=optional(TIME)), 1),
    timeline=list_of(record(
        bytes=POSITIVE, order={"enum": ORDERS}, rank=COUNT, what={"enum": ["send", "receive"]},
        peer=COUNT, direction={"enum": ["-x", "+x", "-y", "+y"]}, start_us=AMOUNT, end_us=AMOUNT)),
    notes=list_of(TEXT),
)
MEMORY = {"enum": ["host", "pinned", "device", "managed", "system"]}
BENCH_PROGRESS = record(
    bench={"const": "progress"},
    ranks={"const": 2},
    nodes=POSITIVE,
    cores=POSITIVE,
    devices=list_of({"anyOf": [CPU, GPU]}, 1),
    mpi=TEXT,
    threads={"enum": ["MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED",
                      "MPI_THREAD_MULTIPLE"]},
    parts=POSITIVE,
    overlap=TEXT,
    cases=list_of(record(
        memory=MEMORY, transport={"enum": TRANSPORTS}, bytes=POSITIVE, verified={"const": True},
        mode={"enum": ["alone", "work", "busy", "tests", "thread"]}, repetitions=POSITIVE,
        min_us=TIME, median_us=TIME, p99_us=TIME, overlap=optional({"type": "number"})), 1),
    notes=list_of(TEXT),
)
CALLS = dict(name=TEXT, text=TEXT, repetitions=POSITIVE, min_us=AMOUNT, median_us=AMOUNT,
             p99_us=AMOUNT)
BENCH_OVERHEAD = record(
    bench={"const": "overhead"},
    ranks=POSITIVE,
    nodes=POSITIVE,
    devices=list_of(GPU, 1),
    mpi=TEXT,
    messages=list_of(record(
        bytes=POSITIVE, stand={"enum": ["before-gpu", "host", "pinned"]}, verified={"const": True},
        repetitions=POSITIVE, min_us=TIME, median_us=TIME, p99_us=TIME)),
    pinning=list_of(record(**CALLS, bytes=POSITIVE), 1),
    waiting=list_of(record(**CALLS), 1),
    notes=list_of(TEXT),
)


def check_copy(report):
    jsonschema.Draft7Validator(BENCH_COPY).validate(report)
    for case in report["cases"]:
        assert case["min_us"] <= case["median_us"] <= case["p99_us"]
        assert case["gb_per_s"] == approx(case["bytes"] / case["median_us"] / 1e3)


def check_first_use(report):
    jsonschema.Draft7Validator(BENCH_FIRST_USE).validate(report)
    for case in report["cases"]:
        late = sorted(case["exchanges_us"][len(case["exchanges_us"]) // 2:])
        assert case["steady_us"] == approx(late[(len(late) - 1) // 2])
        assert (case["extra_us"] == 0) or case["steady_from"] > 1


def check_mesh(report):
    jsonschema.Draft7Validator(BENCH_MESH).validate(report)
    assert np.prod(report["process_grid"]) == report["ranks"]
    for case in report["cases"]:
        if case["deadlock"]:
            assert len(case["circle"]) + case["others_stuck"] <= report["ranks"]
            assert case["verified"] is case["median_us"] is None
        else:
            assert case["circle"] is case["others_stuck"] is None
            assert case["verified"] and case["min_us"] <= case["median_us"] <= case["p99_us"]
    for message in report["timeline"]:
        assert message["start_us"] <= message["end_us"]


def check_progress(report):
    jsonschema.Draft7Validator(BENCH_PROGRESS).validate(report)
    for case in report["cases"]:
        assert case["min_us"] <= case["median_us"] <= case["p99_us"]
        if case["mode"] == "alone":
            alone = case["median_us"]
        elif case["mode"] == "work":
            work = case["median_us"]
        else:
            assert case["overlap"] == approx((alone + work - case["median_us"]) / alone)


def check_overhead(report):
    jsonschema.Draft7Validator(BENCH_OVERHEAD).validate(report)
    for cost in report["messages"] + report["pinning"] + report["waiting"]:
        assert cost["min_us"] <= cost["median_us"] <= cost["p99_us"]


def check_layout(report):
    """As the command's, but for views, which send whole bricks."""
    ways = [way for way in report["ways"] if way["name"] != "mapped_views"]
    cases = []
    for case in report["cases"]:
        if case["way"] == "mapped_views":
            assert case["mapped_pieces"] > 0 and case["bytes"] >= case["needed_bytes"]
            case = {**case, "mapped_pieces": None, "bytes": case["needed_bytes"]}
        cases.append(case)
    check_bench_layout({**report, "ways": ways, "cases": cases})
