# SPDX-License-Identifier: Apache-2.0
"""The form of the JSON report, and what must hold in it."""

import jsonschema
import numpy as np
from pytest import approx


def record(**properties):
    return {"type": "object", "properties": properties, "required": list(properties),
            "additionalProperties": False}


def of_kind(kind):
    """The keys of every report: what it is, and the version of Halocline that made it."""
    return {"report": {"const": kind}, "halocline": {"type": "string", "pattern": r"^\d+\.\d+\.\d+$"}}


def optional(kind):
    return {"anyOf": [kind, {"type": "null"}]}


def list_of(items, fewest=0, most=None):
    kind = {"type": "array", "items": items, "minItems": fewest}
    return kind if most is None else {**kind, "maxItems": most}


TEXT = {"type": "string", "minLength": 1}
COUNT = {"type": "integer", "minimum": 0}
POSITIVE = {"type": "integer", "minimum": 1}
AMOUNT = {"type": "number", "minimum": 0}
SPREAD = record(min=AMOUNT, mean=AMOUNT, max=AMOUNT)
EXTENTS = list_of(POSITIVE, 1, 3)
RANKS = list_of(COUNT, 1)
CPU = record(kind={"const": "cpu"}, name=TEXT, uuid={"type": "null"}, host={"type": "null"},
             ranks=RANKS)
GPU = record(kind={"const": "gpu"}, name=TEXT,
             uuid={"type": "string", "pattern": "^GPU-[0-9a-f-]{36}$"}, host=TEXT, ranks=RANKS)

CHECKSUM = {"type": "string", "pattern": "^[0-9a-f]{16}$"}
PAIRS = ["self", "same-node", "other-node"]
TRANSPORTS = ["self", "shared", "peer", "nccl", "nvshmem", "gpu_aware", "staged", "mpi"]
SCHEDULES = ["sequential", "overlap", "fused", "persistent"]

SCHEMA = record(
    **of_kind("solve"),
    problem=TEXT,
    cells=EXTENTS,
    precision={"enum": ["f32", "f64"]},
    norm={"enum": ["max", "l2", "none"]},
    norm_of=list_of(TEXT, 0, 16),
    sweeps=COUNT,
    converged={"type": "boolean"},
    norm_history=list_of({"type": "array", "items": [COUNT, optional(AMOUNT)], "minItems": 2,
                          "maxItems": 2}, most=10_001),
    time=optional({"type": "number"}),
    sum=optional({"type": "number"}),
    checksum=CHECKSUM,
    fields={"type": "object", "minProperties": 1,
            "additionalProperties": record(sum=optional({"type": "number"}), checksum=CHECKSUM)},
    not_finite=optional(record(field=TEXT, cell=list_of(COUNT, 1, 3))),
    verified=optional({"type": "boolean"}),
    spot_checks=optional(record(sweeps=COUNT, cells=COUNT, wrong=optional(TEXT))),
    series=optional(record(
        every=POSITIVE, names=list_of(TEXT, 1),
        rows=list_of({"type": "array", "items": [COUNT], "minItems": 2,
                      "additionalItems": optional({"type": "number"})}, 1))),
    stopped_by=optional(TEXT),
    restart=optional(record(path=TEXT, sweeps=COUNT)),
    checkpoints=optional(record(folder=TEXT, written=COUNT, last=COUNT, ms=AMOUNT)),
    writing=optional(record(beside_sweeps={"type": "boolean"}, why_not=optional(TEXT),
                            copies_in=optional(TEXT), copies_bytes=COUNT, waited_ms=AMOUNT)),
    pictures=list_of(record(path=TEXT, field=TEXT, map={"enum": ["viridis", "coolwarm"]},
                            least=optional({"type": "number"}), largest=optional({"type": "number"}))),
    glups=AMOUNT,
    glups_per_rank=AMOUNT,
    operations_per_update=COUNT,
    bytes_per_update=POSITIVE,
    # Only where formulas were compiled.
    seconds={**record(setup=AMOUNT, first_sweep=AMOUNT, loop=AMOUNT, compile=AMOUNT, total=AMOUNT),
             "required": ["setup", "first_sweep", "loop", "total"]},
    ranks=POSITIVE,
    nodes=POSITIVE,
    process_grid=EXTENTS,
    threads_per_rank=POSITIVE,
    backend={"enum": ["reference", "cpu", "cuda"]},
    memory={"enum": ["host", "pinned", "device", "managed", "system"]},
    simd=optional(TEXT),
    formulas={"enum": ["compiled", "interpreted"]},
    devices=list_of({"anyOf": [CPU, GPU]}, 1),
    mpi=TEXT,
    transport={"type": "object", "additionalProperties": False,
               "properties": {pair: {"enum": TRANSPORTS} for pair in PAIRS}},
    schedule={"enum": SCHEDULES},
    halo_depth=POSITIVE,
    sweeps_per_pass=POSITIVE,
    sweeps_in_passes=COUNT,
    brick=list_of(POSITIVE, 0, 3),
    sweeps_in_graphs=COUNT,
    choice=record(
        by={"enum": ["rule", "measurement", "file"]}, seconds=AMOUNT,
        ways=list_of(record(process_grid=EXTENTS, schedule={"enum": SCHEDULES},
                            transport=TEXT, in_graphs={"type": "boolean"},
                            sweeps_per_pass=POSITIVE,
                            us_per_sweep={"type": "number", "exclusiveMinimum": 0},
                            taken={"type": "boolean"})),
        transports=list_of(record(pair={"enum": PAIRS}, transport={"enum": TRANSPORTS},
                                  us={"type": "number", "exclusiveMinimum": 0}))),
    halo=record(messages=COUNT, bytes=COUNT, exchanges=COUNT, us=optional(SPREAD)),
    phases=record(**dict.fromkeys(("compute", "pack", "move", "call", "wait", "unpack", "reduce"),
                                  record(min=AMOUNT, mean=AMOUNT, max=AMOUNT, ranks=list_of(AMOUNT, 1)))),
    notes=list_of(TEXT),
)
# Only where they were asked for.
BASELINE = record(seconds=AMOUNT, speedup=AMOUNT, efficiency=AMOUNT, schedule={"enum": SCHEDULES})
PROFILE = list_of(record(site=TEXT, phase=TEXT, calls=POSITIVE, bytes=COUNT, mean_seconds=AMOUNT,
                         max_seconds=AMOUNT, longest_seconds=AMOUNT))

TIME = {"type": "number", "exclusiveMinimum": 0}
OF_RIVAL = dict(
    cells_per_rank=EXTENTS, process_grid=EXTENTS, width=POSITIVE, fields=POSITIVE,
    memory={"enum": ["host", "pinned", "device", "managed", "system"]},
    rival={"enum": ["derived_types"]})
BENCH_HALO = record(
    **of_kind("bench halo"),
    precision={"enum": ["f32", "f64"]},
    neighbours={"enum": ["faces", "all"]},
    ranks=POSITIVE,
    nodes=POSITIVE,
    periodic=list_of({"type": "boolean"}, 3, 3),
    devices=list_of({"anyOf": [CPU, GPU]}, 1),
    mpi=TEXT,
    memcpy=TEXT,
    link=TEXT,
    derived_types=TEXT,
    exchanges_per_graph=POSITIVE,
    cases=list_of(record(
        cells_per_rank=EXTENTS, process_grid=EXTENTS, width=POSITIVE, fields=POSITIVE,
        memory={"enum": ["host", "pinned", "device", "managed", "system"]}, transport=TEXT,
        graph={"enum": ["off", "on"]}, verified={"const": True}, repetitions=POSITIVE, min_us=TIME,
        median_us=TIME, p99_us=TIME, messages=COUNT, bytes=COUNT, gb_per_s=optional(TIME),
        memcpy_gb_per_s=optional(TIME), share_of_memcpy=optional(TIME),
        link_gb_per_s=optional(TIME), share_of_link=optional(TIME),
        derived_types_us=optional(TIME), derived_types_ratio=optional(TIME),
        **{f"{phase}_us": optional(AMOUNT)
           for phase in ("pack", "move", "call", "wait", "unpack")}), 1),
    rivals=list_of({"anyOf": [
        record(**OF_RIVAL, not_run={"type": "null"}, verified={"const": True},
               repetitions=POSITIVE, min_us=TIME, median_us=TIME, p99_us=TIME, messages=COUNT,
               bytes=COUNT),
        record(**OF_RIVAL, not_run=TEXT,
               **dict.fromkeys(("verified", "repetitions", "min_us", "median_us", "p99_us",
                                "messages", "bytes"), {"type": "null"}))]}),
    notes=list_of(TEXT),
)
BENCH_P2P = record(
    **of_kind("bench p2p"),
    ranks=POSITIVE,
    nodes=POSITIVE,
    devices=list_of({"anyOf": [CPU, GPU]}, 1),
    mpi=TEXT,
    window=POSITIVE,
    latency=TEXT,
    one_way=TEXT,
    both_ways=TEXT,
    unit=TEXT,
    cases=list_of(record(
        ranks=list_of(COUNT, 2, 2), pair={"enum": ["same-gpu", "same-node", "other-node"]},
        memory={"enum": ["host", "pinned", "device", "managed", "system"]},
        transport={"enum": TRANSPORTS[1:]}, bytes=POSITIVE, verified={"const": True},
        repetitions=POSITIVE, latency_min_us=TIME, latency_us=TIME, latency_p99_us=TIME,
        one_way_best_mb_per_s=TIME, one_way_mb_per_s=TIME, one_way_p99_mb_per_s=TIME,
        both_ways_best_mb_per_s=TIME, both_ways_mb_per_s=TIME, both_ways_p99_mb_per_s=TIME), 1),
    outliers=list_of(record(
        ranks=list_of(COUNT, 2, 2), pair=TEXT, memory=TEXT, transport=TEXT, bytes=POSITIVE,
        what={"enum": ["latency", "one way", "both ways"]}, share_of_median=TIME)),
    notes=list_of(TEXT),
)
BENCH_STEP = record(
    **of_kind("bench step"),
    problem={"enum": ["laplace", "jacobi", "heat", "star7"]},
    sweeps=POSITIVE,
    repetitions=POSITIVE,
    efficiency=TEXT,
    ranks=list_of(POSITIVE, 1),
    nodes=POSITIVE,
    threads_per_rank=POSITIVE,
    backend={"enum": ["reference", "cpu", "cuda"]},
    memory={"enum": ["host", "device"]},
    devices=list_of({"anyOf": [CPU, GPU]}, 1),
    mpi=TEXT,
    cases=list_of(record(
        scaling={"enum": ["strong", "weak"]}, cells=EXTENTS, process_grid=EXTENTS, ranks=POSITIVE,
        precision={"enum": ["f32", "f64"]}, norm={"enum": ["max", "l2", "none"]},
        norm_every=POSITIVE, halo_depth=POSITIVE, schedule={"enum": SCHEDULES}, transport=TEXT,
        sweeps_in_graphs=COUNT, messages=COUNT, bytes=COUNT, us_per_sweep=list_of(TIME, 1),
        best_us=TIME, median_us=TIME, worst_us=TIME, exchange_us=optional(AMOUNT),
        reduce_us=optional(AMOUNT), glups=TIME, efficiency=optional(TIME),
        checksum={"type": "string", "pattern": "^[0-9a-f]{16}$"}, verified={"const": True}), 1),
    notes=list_of(TEXT),
)
WAYS = [*TRANSPORTS[1:], "whole_array", "skin_copies", "pinned", "managed", "prefetched",
        "derived_types"]
PHASES = ["calc", "pack", "move", "call", "wait"]
BENCH_LAYOUT = record(
    **of_kind("bench layout"),
    problem=TEXT,
    cells_per_rank=EXTENTS,
    cells=EXTENTS,
    precision={"enum": ["f32", "f64"]},
    sweeps=POSITIVE,
    repetitions=POSITIVE,
    ranks={"type": "integer", "minimum": 2},
    nodes=POSITIVE,
    process_grid=EXTENTS,
    threads_per_rank=POSITIVE,
    backend={"enum": ["cpu", "cuda"]},
    devices=list_of({"anyOf": [CPU, GPU]}, 1),
    mpi=TEXT,
    checksum=CHECKSUM,
    judge=TEXT,
    ways=list_of(record(name={"enum": WAYS}, text=TEXT)),
    cases=list_of(record(
        way=TEXT, layout=TEXT, brick=list_of(POSITIVE, 0, 3), steps=POSITIVE,
        memory={"enum": ["host", "pinned", "device", "managed"]}, messages=POSITIVE,
        bytes=POSITIVE, needed_bytes=POSITIVE, mapped_pieces=optional(POSITIVE),
        verified={"const": True}, us_per_sweep=list_of(TIME, 1), best_us=TIME,
        median_us=TIME, worst_us=TIME, glups=TIME, glups_per_rank=TIME, redundant_updates=AMOUNT,
        **{f"{phase}_us": SPREAD for phase in PHASES},
        **{f"{phase}_deviation_us": AMOUNT for phase in PHASES}), 1),
    kernels=list_of(record(layout=TEXT, way=TEXT, steps=POSITIVE, plain_calc_us=TIME, calc_us=TIME,
                           gain=TIME), 1),
    notes=list_of(TEXT),
)
ANY_TEXT = {"type": "string"}
MAP_OF_TEXTS = {"type": "object", "additionalProperties": ANY_TEXT}
SEVERITIES = ["broken", "slow", "untested", "absent", "note"]
DOCTOR_TRANSPORTS = ["MPI_Send", "MPI_Isend", "MPI_Send_init", "MPI_Sendrecv", "mpi", "shared", "peer", "staged", "gpu_aware", "nccl", "nvshmem"]


def doctor_result(paths, memories):
    """What became of a path, or of a collective."""
    return record(
        path={"enum": paths}, memory={"enum": memories},
        pair={"enum": ["same-gpu", "same-node", "other-node"]}, how=ANY_TEXT,
        outcome={"enum": ["works", "wrong", "out of order", "failed", "unavailable", "untried"]},
        in_order_up_to=optional(POSITIVE),
        us=list_of({"type": "array", "items": [POSITIVE, TIME], "minItems": 2, "maxItems": 2}),
        **{"with": ANY_TEXT})


DOCTOR = record(
    **of_kind("doctor"),
    when={"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"},
    host=TEXT,
    mpi=TEXT,
    ranks=POSITIVE,
    nodes=POSITIVE,
    load=optional(AMOUNT),
    seconds=AMOUNT,
    speeds=list_of(record(host=TEXT, gpu=optional(COUNT), copy_gb_per_s=AMOUNT,
                          host_gb_per_s=optional(AMOUNT))),
    links=list_of(record(**{"from": TEXT, "to": TEXT}, us=AMOUNT, gb_per_s=AMOUNT)),
    findings=list_of(record(severity={"enum": SEVERITIES}, what=TEXT, seen=TEXT, do=ANY_TEXT)),
    paths=list_of(doctor_result(
        DOCTOR_TRANSPORTS, ["host", "pinned", "device", "managed", "system", "pool", "vmm"])),
    collectives=list_of(doctor_result(
        ["MPI_Allreduce", "MPI_Bcast", "MPI_Allgather"], ["host", "device"])),
    taken=record(host=optional({"enum": DOCTOR_TRANSPORTS}),
                 device=optional({"enum": DOCTOR_TRANSPORTS})),
    taken_between_nodes=record(host=optional({"enum": DOCTOR_TRANSPORTS}),
                               device=optional({"enum": DOCTOR_TRANSPORTS})),
    launch=TEXT,
    stop=TEXT,
    batch=optional(TEXT),
    changes=optional(list_of(record(what=TEXT, before=ANY_TEXT, now=ANY_TEXT))),
    facts=record(
        processor=TEXT, usable_cores=POSITIVE, allowed_cores=TEXT, online_threads=POSITIVE,
        numa_nodes=POSITIVE, mpi=TEXT, libraries=list_of(TEXT), built_with_cuda={"type": "boolean"},
        gpu_files=COUNT, kernel_driver=TEXT, adapters=list_of(TEXT),
        limits=record(shm_bytes=optional(COUNT), ptrace_scope=optional(COUNT),
                      may_trace={"type": "boolean"}, memlock_bytes=optional(COUNT),
                      open_files=optional(COUNT), processes=optional(COUNT), temporary=TEXT,
                      temporary_free_bytes=optional(COUNT), container=ANY_TEXT),
        parameter_files=MAP_OF_TEXTS,
        allocation=record(manager=ANY_TEXT, job=ANY_TEXT, nodes=optional(COUNT),
                          tasks=optional(COUNT), cores_per_task=optional(COUNT)),
        settings=MAP_OF_TEXTS, launcher=optional(TEXT), thread_level=ANY_TEXT,
        claims_gpu=optional({"type": "boolean"}), mpi_stream_calls=optional({"type": "boolean"}),
        mpi_partitioned_calls=optional({"type": "boolean"}), mpi_memory_kinds=list_of(TEXT), mpi_settings=MAP_OF_TEXTS, cuda_driver=ANY_TEXT,
        cuda_runtime=ANY_TEXT, direct_reads=optional({"type": "boolean"}),
        found_libraries=list_of(TEXT), gpus=list_of(TEXT), peer_access=list_of(TEXT),
        cores_of_ranks=list_of(TEXT),
        library_files=list_of(record(library=TEXT, file=TEXT, version=ANY_TEXT, found_by=TEXT,
                                     taken={"type": "boolean"}, problem=ANY_TEXT)),
        nodes={"type": "object", "additionalProperties": record(
            processor=TEXT, online_threads=POSITIVE, mpi=TEXT, libraries=list_of(TEXT),
            kernel_driver=TEXT, gpus=list_of(TEXT), adapters=list_of(TEXT),
            shm_bytes=optional(COUNT))},
        near_adapters=list_of(record(host=TEXT, gpu=COUNT, adapter=TEXT,
                                     nearness={"enum": ["PIX", "PXB", "PHB", "NODE", "SYS"]}))),
)


def check_doctor(report, code):
    """What holds in every report, and the exit code that belongs to it."""
    jsonschema.Draft7Validator(DOCTOR).validate(report)
    severities = [finding["severity"] for finding in report["findings"]]
    assert severities == sorted(severities, key=SEVERITIES.index)
    is_ill = bool({"broken", "slow"} & set(severities))
    assert (code == 1) == is_ill, (code, severities)
    assert (code == 4) == ("untested" in severities and not is_ill), (code, severities)
    assert code in (0, 1, 3, 4)
    for path in report["paths"] + report["collectives"]:
        assert (path["how"] == "") == (path["outcome"] == "works"), path
    for path in report["paths"]:
        in_stream = path["memory"] != "host" and path["outcome"] == "works"
        if in_stream:  # larger messages are only compared
            assert path["in_order_up_to"] == max(b for b, _ in path["us"] if b <= 1 << 20), path
        elif path["outcome"] == "works":
            assert path["in_order_up_to"] is None, path


PLAN = record(
    **of_kind("plan"),
    problem={"enum": ["laplace", "jacobi", "heat", "star7"]},
    cells=EXTENTS,
    precision={"enum": ["f32", "f64"]},
    ranks=POSITIVE,
    halo_depth=POSITIVE, sweeps_per_pass=POSITIVE,
    process_grids=list_of(record(
        process_grid=EXTENTS, cells_per_rank=EXTENTS, messages=COUNT, bytes=COUNT,
        memory_bytes=POSITIVE, imbalance={"type": "number", "minimum": 1},
        redundant_updates=AMOUNT)),
    refused=list_of(record(process_grid=EXTENTS, why=TEXT)),
)


def check_bench_layout(report):
    jsonschema.Draft7Validator(BENCH_LAYOUT).validate(report)
    assert np.prod(report["process_grid"]) == report["ranks"]
    cells = np.prod(report["cells"])
    assert cells == np.prod(report["cells_per_rank"]) * report["ranks"]
    for case in report["cases"]:
        assert case["best_us"] <= case["median_us"] <= case["worst_us"]
        assert len(case["us_per_sweep"]) <= report["repetitions"]
        assert case["glups"] == approx(cells / case["median_us"] / 1e3), "each update counts once"
        assert case["glups_per_rank"] == approx(case["glups"] / report["ranks"])
        assert (case["redundant_updates"] > 0) == (case["steps"] > 1)
        assert (case["brick"] == []) == (case["layout"] in ("array", "auto"))
        assert case["mapped_pieces"] is None
        assert case["bytes"] == case["needed_bytes"]
        for phase in PHASES:
            spread = case[f"{phase}_us"]
            assert spread["min"] <= spread["mean"] * 1.000001 <= spread["max"] * 1.00001
            assert case[f"{phase}_deviation_us"] <= spread["max"] - spread["min"] + 1e-9
    layouts = {case["layout"] for case in report["cases"]}
    assert {kernel["layout"] for kernel in report["kernels"]} == layouts
    fewest = min(case["steps"] for case in report["cases"])
    for kernel in report["kernels"]:
        fastest = min((case for case in report["cases"]
                       if (case["layout"], case["steps"]) == (kernel["layout"], fewest)),
                      key=lambda case: case["median_us"])
        assert (kernel["way"], kernel["steps"]) == (fastest["way"], fewest)
        assert kernel["gain"] == approx(kernel["plain_calc_us"] / kernel["calc_us"])


def check_bench_halo(report):
    jsonschema.Draft7Validator(BENCH_HALO).validate(report)
    for case in report["cases"]:
        assert np.prod(case["process_grid"]) == report["ranks"]
        assert len(case["process_grid"]) == len(case["cells_per_rank"])
        assert case["min_us"] <= case["median_us"] <= case["p99_us"]
        assert (case["bytes"] == 0) == (case["messages"] == 0) == (case["gb_per_s"] is None)
        if case["bytes"]:
            assert case["gb_per_s"] == approx(case["bytes"] / case["median_us"] / 1e3)
        for ceiling in ("memcpy", "link"):
            rate, share = case[f"{ceiling}_gb_per_s"], case[f"share_of_{ceiling}"]
            assert (share is None) == (rate is None)
            if share is not None:
                assert share == approx(case["gb_per_s"] / rate)
        assert (case["call_us"] is None) == (case["graph"] == "on")


def check_bench_p2p(report):
    jsonschema.Draft7Validator(BENCH_P2P).validate(report)
    for case in report["cases"]:
        first, second = case["ranks"]
        assert first < second < report["ranks"]
        assert case["latency_min_us"] <= case["latency_us"] <= case["latency_p99_us"]
        for way in ("one_way", "both_ways"):
            assert (case[f"{way}_best_mb_per_s"] >= case[f"{way}_mb_per_s"]
                    >= case[f"{way}_p99_mb_per_s"])


def check_bench_step(report):
    jsonschema.Draft7Validator(BENCH_STEP).validate(report)
    for case in report["cases"]:
        assert np.prod(case["process_grid"]) == case["ranks"]
        assert case["ranks"] in report["ranks"]
        times = sorted(case["us_per_sweep"])
        assert len(times) == report["repetitions"]
        assert (case["best_us"], case["worst_us"]) == (times[0], times[-1])
        assert case["median_us"] == times[(len(times) - 1) // 2]
        assert case["glups"] == approx(np.prod(case["cells"]) / case["median_us"] / 1e3)
        assert (case["messages"] == 0) == (case["ranks"] == 1)
        assert case["sweeps_in_graphs"] <= report["sweeps"]
        assert (case["exchange_us"] is None) == (report["backend"] == "cuda")
        if case["exchange_us"] is not None:
            assert case["exchange_us"] + case["reduce_us"] < 1.01 * case["median_us"]
            assert case["ranks"] == 1 or case["exchange_us"] > 0


def check_report(report, **more):
    schema = {**SCHEMA, "properties": {**SCHEMA["properties"], **more},
              "required": [*SCHEMA["required"], *more]}
    jsonschema.Draft7Validator(schema).validate(report)
    assert len(report["cells"]) == len(report["process_grid"])
    assert np.prod(report["process_grid"]) == report["ranks"]
    assert sorted(sum((device["ranks"] for device in report["devices"]), [])) == list(
        range(report["ranks"]))
    on_gpus = report["backend"] == "cuda"
    assert {device["kind"] for device in report["devices"]} == {"gpu" if on_gpus else "cpu"}
    assert (report["simd"] is None) == on_gpus
    assert report["glups_per_rank"] == approx(report["glups"] / report["ranks"])
    assert (report["halo"]["us"] is None) == (report["sweeps_in_graphs"] > 0)
    for spread in [*filter(None, [report["halo"]["us"]]), *report["phases"].values()]:
        assert spread["min"] <= spread["mean"] * (1 + 1e-12)
        assert spread["mean"] <= spread["max"] * (1 + 1e-12)
    for phase in report["phases"].values():
        assert len(phase["ranks"]) == report["ranks"]
        assert (min(phase["ranks"]), max(phase["ranks"])) == (phase["min"], phase["max"])
