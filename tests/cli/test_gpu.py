# SPDX-License-Identifier: Apache-2.0
"""Solving on GPUs. CUDA's sources run on the CPU here (tests/cuda_on_cpu), so that each test may
choose GPUs, driver, memory and MPI; in other builds these tests are skipped."""

import json
import os
import re
import signal
import time

import pytest
from pytest import approx

from command import put_script, run, skip_without_emulation, solve, solve_json, started
from schema import BASELINE, PROFILE, check_report

skip_without_emulation()

USAGE, UNAVAILABLE, FAILURE = 2, 3, 4
GPUS = [f"GPU-c0da0c90-0000-4000-8000-00000000000{n}" for n in range(2)]
SMALL = ["laplace", "--cells", "40x30", "--sweeps", "5"]
TRYING = "note: testing in a probe job whether MPI accepts GPU memory"
GPU_AWARE = {"CUDA_ON_CPU_DEVICE_MEMORY": "host-readable"}  # for every MPI, then
NO_HANDLES = {"CUDA_ON_CPU_IPC": "absent"}
NO_PEER = {**NO_HANDLES, "CUDA_ON_CPU_VMM": "absent"}  # kernels reach no other rank's GPU


@pytest.fixture(autouse=True)
def two_gpus(monkeypatch):
    """A machine with two GPUs, whatever the caller's is; ranks that share one have the caller's MPS."""
    for name in os.environ.copy():
        if name.startswith("CUDA_") and name != "CUDA_MPS_PIPE_DIRECTORY":
            monkeypatch.delenv(name)
    monkeypatch.setenv("CUDA_ON_CPU_DEVICES", "2")
    # Put off, kernels that wait for another rank's would hang it while their host is in MPI.
    monkeypatch.setenv("CUDA_ON_CPU_ORDER", "thread")
    monkeypatch.setenv("HALOCLINE_ASSUME_GPU", "2")


def pick(report, names):
    return {name: report[name] for name in names}


# Results

MEMORIES = ["device", "managed", "pinned", "system"]


@pytest.mark.parametrize("memory", MEMORIES)
def test_files_and_values_on_the_way_are_those_of_the_cpu(memory, tmp_path):
    """Stops that divide no batch of sweeps, in a run that a norm ends."""
    words = ["laplace", "--cells", "64x48", "--tolerance", "0.07", "--ranks", "2", "--process-grid", "1x2", "--output",
             "u.npy", "--output-every", "37", "--sum", "u", "--probe", "3,40", "--series-every", "10"]
    folders = [tmp_path / name for name in ("cpu", "gpu", "graphs")]
    reports = []
    for folder, way in zip(folders, (["--backend", "cpu"], ["--memory", memory],
                                     ["--memory", memory, "--schedule", "sequential"])):
        folder.mkdir()
        reports.append(solve_json(*words, *way, cwd=folder))
    names = sorted(path.name for path in folders[0].iterdir())
    assert len(names) == 4 and names[-1] == f"u-{reports[0]['sweeps']:06}.npy"
    for folder, report in zip(folders[1:], reports[1:]):
        assert report["backend"] == "cuda"
        for key in ("series", "norm_history", "checksum"):
            assert report[key] == reports[0][key]
        assert sorted(path.name for path in folder.iterdir()) == names
        for name in names:
            assert (folder / name).read_bytes() == (folders[0] / name).read_bytes()


def test_documented_figures():
    report = solve_json("laplace", "--cells", "256x128", "--ranks", "2")
    assert report["backend"] == "cuda"
    assert pick(report, ["sweeps", "checksum"]) == {"sweeps": 199, "checksum": "528098ec285fe4a5"}
    assert report["sum"] == approx(13630.1557717833, rel=1e-12)


@pytest.mark.parametrize("order", ["eager", "lazy", "random:7", "thread"])
@pytest.mark.parametrize("words", [
    "laplace --cells 64x48 --sweeps 9 --ranks 3 --transport staged --schedule overlap",
    "star7 --cells 8x9x10 --sweeps 4 --ranks 2 --transport gpu_aware --halo-depth 2"])
def test_the_order_in_which_a_gpu_works(order, words):
    """Each result is verified, whatever is done late."""
    report = solve_json(*words.split(), "--verify", env={**GPU_AWARE, "CUDA_ON_CPU_ORDER": order})
    assert report["verified"] is True


@pytest.mark.parametrize("transport", ["staged", "peer"])
def test_launches_that_block(transport):
    report = solve_json(*SMALL, "--ranks", "2", "--transport", transport, "--verify",
                        env={"CUDA_LAUNCH_BLOCKING": "1"})
    assert report["verified"] is True


# Kernels that store into other ranks' GPUs


NO_P2P = {"CUDA_ON_CPU_P2P": "absent"}
CANNOT_SHARE = "rank [01] cannot share its GPU's memory with other ranks .cudaIpcGetMemHandle failed"
without_sharing = pytest.mark.parametrize("missing, why", [
    (NO_PEER, CANNOT_SHARE + ".*; by file descriptors: cuMemCreate failed with .*NOT_SUPPORTED"),
    (NO_P2P, "GPU of rank [01] cannot access the memory of rank [01]'s GPU .cudaIpcOpenMemHandle failed"
     ".*; by file descriptors: .* cannot access .*cuMemSetAccess failed")], ids=["IPC+VMM", "P2P"])


@pytest.mark.parametrize("ranks, words", [
    (2, "laplace --cells 40x30 --schedule fused"), (3, "star7 --cells 9x8x10 --halo-depth 2"),
    (4, "laplace --cells 40x30 --process-grid 2x2")])
def test_memory_that_has_no_handles_is_shared_by_file_descriptors(ranks, words):
    words = [*words.split(), "--sweeps", "9", "--ranks", ranks, "--verify"]
    report = solve_json(*words, env=NO_HANDLES)
    assert report["transport"]["same-node"] == "peer" and report["verified"] is True
    note, = [note for note in report["notes"] if "memory" in note]
    assert re.search(f"shared by file descriptors, not by CUDA's handles: {CANNOT_SHARE}", note)
    usual = solve_json(*words)
    keys = ["checksum", "norm_history", "sum", "transport", "schedule"]
    assert pick(usual, keys) == pick(report, keys)
    assert not any("descriptors" in note for note in usual["notes"])


@without_sharing
def test_auto_does_without_memory_of_other_ranks(missing, why):
    report = solve_json(*SMALL, "--ranks", "2", "--verify", env=missing)
    assert report["transport"] == {"same-node": "staged"} and report["verified"] is True
    note, = [note for note in report["notes"] if "peer" in note]
    assert re.search(f"transport peer was left out: .*{why}", note)


@without_sharing
@pytest.mark.parametrize("transport", ["peer", "same-node=peer"])
def test_memory_of_other_ranks_that_cannot_be_had(transport, missing, why):
    end = run("solve", *SMALL, "--ranks", "2", "--transport", transport, env=missing)
    told(end, UNAVAILABLE, why, "use transport staged, or auto")


def test_one_gpu_needs_no_access_to_others():
    report = solve_json(*SMALL, "--ranks", "2", "--transport", "peer", "--verify",
                        env={"CUDA_ON_CPU_P2P": "absent", "CUDA_VISIBLE_DEVICES": "1"})
    assert report["verified"] is True


def endless_on_peers(limit):
    return ["solve", "laplace", "--cells", "24x18", "--tolerance", "0", "--sweeps", "1000000000",
            "--transport", "peer", "--process-grid", "1x2", "--ranks", "2", "--wait-limit", limit]


def ranks_at_work(job, count):
    end = time.monotonic() + 120
    while len(job.ranks()) < count and time.monotonic() < end:
        time.sleep(0.1)
    time.sleep(2)
    return job.ranks()


def test_a_stopped_rank_is_named():
    with started(*endless_on_peers(3)) as job:
        stopped = ranks_at_work(job, 2)[1]
        os.kill(stopped, signal.SIGSTOP)
        time.sleep(4)
        os.kill(stopped, signal.SIGCONT)  # or MPICH's launcher could not end it
        end = job.finish(timeout=120)
    assert end.code == FAILURE and "checksum" not in end.out
    assert re.search(r"^halocline: the GPU of rank 0 has waited 2\.7 s in (exchange \d+ by peer|(norm|sweep) \d+) for "
                     r"rank 1 \((field 'u', direction \+y|edge \+y|its norm)\); that rank is stopped, lost",
                     end.err, re.MULTILINE), end.err


@pytest.mark.parametrize("missing", [{}, NO_HANDLES], ids=["handles", "descriptors"])
def test_a_killed_rank_ends_the_run_on_peers(missing):
    with started(*endless_on_peers(60), env=missing) as job:
        os.kill(ranks_at_work(job, 2)[1], signal.SIGKILL)
        end = job.finish(timeout=120)
    assert end.code == FAILURE and "checksum" not in end.out
    assert "halocline: a rank was ended by signal 9 (Killed)" in end.err


def test_verify_and_baseline():
    words = [*SMALL, "--ranks", "2", "--verify", "--baseline", "--profile"]
    report = solve_json(*words)
    check_report(report, baseline=BASELINE, profile=PROFILE)
    assert report["verified"] is True
    assert report["baseline"]["speedup"] == approx(
        report["baseline"]["seconds"] / report["seconds"]["loop"])
    text = solve(*words)
    assert re.search("verified +every cell and norm as the reference backend on one rank", text)
    assert re.search(r"one rank +\S+ \S+; speed-up \S+ on 2 ranks, efficiency", text)


def test_a_time_line(tmp_path):
    solve(*SMALL, "--ranks", "2", "--transport", "staged", "--trace", "t.json", cwd=tmp_path)
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    kinds = {(event["pid"], event["cat"]) for event in events if event["ph"] == "X"}
    assert {(rank, kind) for rank in (0, 1) for kind in ("call", "wait")} <= kinds


# Who computes where


def test_the_report_says_which_rank_has_which_gpu(tmp_path):
    end = run("solve", *SMALL, "--ranks", "2", "--json", "r.json", cwd=tmp_path)
    assert end.code == 0 and end.err == ""
    report = json.loads((tmp_path / "r.json").read_text())
    check_report(report)
    host = os.uname().nodename
    assert report["devices"] == [
        {"kind": "gpu", "name": "CUDA on CPU", "uuid": GPUS[rank], "host": host, "ranks": [rank]}
        for rank in range(2)]
    assert pick(report, ["backend", "memory", "simd", "transport"]) == {
        "backend": "cuda", "memory": "device", "simd": None, "transport": {"same-node": "peer"}}
    assert "  backend       cuda on 2 x CUDA on CPU, device memory\n" in end.out
    for rank in range(2):
        assert f"  GPU           {GPUS[rank]} on {host}: rank {rank}\n" in end.out


def test_ranks_that_share_a_gpu():
    report = solve_json(*SMALL, "--ranks", "3")
    assert sorted(gpu["ranks"] for gpu in report["devices"]) == [[0, 1], [2]]
    assert any(note.startswith(f"ranks 0 and 1 share {GPUS[0]} (3 ranks, 2 GPUs visible)")
               for note in report["notes"])
    text = solve(*SMALL, "--ranks", "4", env={"CUDA_VISIBLE_DEVICES": "1"})
    assert f"{GPUS[1]} on {os.uname().nodename}: ranks 0 to 3\n" in text
    assert f"note: ranks 0-3 share {GPUS[1]}" in text


def test_a_gpu_that_nobody_uses():
    report = solve_json(*SMALL)
    assert [gpu["uuid"] for gpu in report["devices"]] == [GPUS[0]]
    assert any("2 GPUs are visible" in note and "1 rank uses one" in note
               for note in report["notes"])


def test_gpus_chosen_by_uuid():
    report = solve_json(*SMALL, "--ranks", "2",
                        env={"CUDA_VISIBLE_DEVICES": f"{GPUS[1]},{GPUS[0]}"})
    assert [gpu["uuid"] for gpu in report["devices"]] == GPUS[::-1]


def test_vectors_are_for_the_cpu():
    notes = solve_json(*SMALL, "--simd", "scalar")["notes"]
    assert any(note.startswith("--simd scalar has no effect") for note in notes)
    assert run("solve", *SMALL, "--simd", "mmx").code == USAGE


# No GPU to be had. Environment; why, in words; whether somebody would expect a GPU there.
WITHOUT_GPU = {
    "no driver": ({"CUDA_ON_CPU_DRIVER": "absent"},
                  r"no NVIDIA driver here \(libcuda\.so\.1 cannot be loaded\); install one", False),
    "old driver": ({"CUDA_ON_CPU_DRIVER": "old"},
                   r"driver supports CUDA 12\.2, .* built with CUDA 13\.0; update the driver", True),
    "no GPU": ({"CUDA_ON_CPU_DRIVER": "none"}, "driver finds no GPU; check nvidia-smi -L", True),
    "hidden": ({"CUDA_VISIBLE_DEVICES": ""},
               "CUDA_VISIBLE_DEVICES is '', which hides all GPUs; unset it", True),
    "prohibited": ({"CUDA_ON_CPU_COMPUTE_MODE": "prohibited"},
                   "compute mode of every GPU prohibits its use.*nvidia-smi -c DEFAULT", True),
}
without_gpu = pytest.mark.parametrize("env, why, expected", WITHOUT_GPU.values(), ids=WITHOUT_GPU)


def told(end, code, *patterns):
    """One line of ours says why, next to notes."""
    assert end.code == code, end
    assert end.out == ""
    lines = [line for line in end.err.splitlines() if not line.startswith("note: ")]
    assert len(lines) == 1 and lines[0].startswith("halocline: "), end.err
    for pattern in patterns:
        assert re.search(pattern, lines[0]), (pattern, lines[0])
    return lines[0]


@without_gpu
def test_auto_takes_the_cpu_where_there_is_no_gpu(env, why, expected):
    report = solve_json(*SMALL, env=env)
    check_report(report)
    assert (report["backend"], report["memory"]) == ("cpu", "host")
    notes = [note for note in report["notes"] if "no GPU is used: " in note]
    assert len(notes) == expected
    assert all(re.search(why, note) for note in notes)


@without_gpu
@pytest.mark.parametrize("ranks", [1, 2])
def test_cuda_where_there_is_no_gpu(ranks, env, why, expected):
    end = run("solve", *SMALL, "--backend", "cuda", "--ranks", ranks, "--transport", "staged",
              env=env)
    assert "note: " not in end.err
    told(end, UNAVAILABLE, "backend cuda cannot be used: ", why, "use --backend cpu")


def test_nothing_can_be_tried_where_there_is_no_gpu():
    """A machine with GPUs, as far as can be seen from outside."""
    env, why, _ = WITHOUT_GPU["old driver"]
    end = run("solve", *SMALL, "--ranks", "2", env=env)
    assert end.code == 0 and "cpu (" in end.out
    assert re.search(f"note: gpu_aware is not proved for same-node pairs: device memory could not "
                     f"be tried: .*{why}", end.err)


@without_gpu
@pytest.mark.parametrize("memory", MEMORIES)
def test_memory_of_a_gpu_where_there_is_none(memory, env, why, expected):
    end = run("solve", *SMALL, "--memory", memory, env=env)
    told(end, UNAVAILABLE, f"{memory} memory needs a GPU: ", why)


@without_gpu
def test_the_version_says_why_there_is_no_gpu(env, why, expected):
    text = run("--version", "--verbose", env=env).out
    assert re.search(f"^  GPUs        (none|not usable): .*{why}", text, re.MULTILINE), text
    for name in ("cuda", "peer", "gpu_aware", "staged"):
        assert f"  {name:<11} not usable: no usable GPU, see above\n" in text
    for name in ("cpu", "reference", "shared", "mpi"):
        assert f"  {name:<11} usable\n" in text
    assert text.count("use prohibited") == (2 if "COMPUTE_MODE" in str(env) else 0)


def test_the_version_lists_gpus():
    text = run("--version", "--verbose").out
    for n, uuid in enumerate(GPUS):
        assert re.search(rf"^  GPU {n} +CUDA on CPU, {uuid}, 1 GB, compute capability \d+\.\d, "
                         rf"PCI 0000:1{'bc'[n]}:00\.0$", text, re.MULTILINE), text
    assert "\n  driver      CUDA 13.0\n" in text
    assert text.count(" usable\n") == 11 and "not usable" not in text
    text = run("--version", "--verbose", env={"CUDA_ON_CPU_COMPUTE_MODE": "exclusive",
                                              "CUDA_VISIBLE_DEVICES": "1"}).out
    assert text.count("for one process only") == 1 and GPUS[0] not in text


def test_some_ranks_without_a_gpu(mpirun, tmp_path):
    script = put_script(tmp_path / "hide", '[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 1 ] && '
                        'export CUDA_VISIBLE_DEVICES=\nexec "$@"\n')
    options = mpirun(ranks=3)
    *launch, program = options["program"]
    options["program"] = [*launch, str(script), program]
    report = json.loads(run("solve", *SMALL, "--json", "-", **options).out)
    assert report["backend"] == "cpu"
    assert any("some ranks see a GPU and some do not" in note for note in report["notes"])
    end = run("solve", *SMALL, "--backend", "cuda", **options)
    assert end.code == UNAVAILABLE
    ours = [line for line in end.err.splitlines() if line.startswith("halocline: ")]
    assert len(ours) == 1 and re.search(
        r"rank 1 on node 0 .* sees no GPU it can use .*, while rank 0 .* does; "
        r"CUDA_VISIBLE_DEVICES is '' on rank 1", ours[0]), end.err


# A GPU that refuses


def test_a_gpu_for_one_process_only():
    exclusive = {"CUDA_ON_CPU_COMPUTE_MODE": "exclusive"}
    staged = [*SMALL, "--transport", "staged"]
    assert solve_json(*staged, "--ranks", "2", env=exclusive)["backend"] == "cuda"
    end = run("solve", *staged, "--ranks", "3", env=exclusive)
    told(end, UNAVAILABLE, "GPU 0 .* is in compute mode 'exclusive' and another process uses it",
         "use one rank per GPU")
    with started("solve", "laplace", "--cells", "64x64", "--tolerance", "0", "--sweeps",
                 "1000000000", "--quiet", env=exclusive) as other:
        wait_for_lock(other)
        told(run("solve", *SMALL, env={**exclusive, "CUDA_VISIBLE_DEVICES": "0"}), UNAVAILABLE,
             "another process uses it")


def wait_for_lock(job):
    """Until the process has its GPU: it holds the lock that stands for that."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        files = [os.readlink(f"/proc/{job.child.pid}/fd/{fd}")
                 for fd in os.listdir(f"/proc/{job.child.pid}/fd")]
        if any("cuda_on_cpu" in file for file in files):
            return
        time.sleep(0.1)
    pytest.fail("no GPU is held")


@pytest.mark.parametrize("memory", ["device", "managed"])
def test_too_little_memory(memory):
    end = run("solve", "laplace", "--cells", "512x512", "--ranks", "2", "--memory", memory,
              "--transport", "staged", env={"CUDA_ON_CPU_MEMORY_BYTES": "1000000"})
    told(end, FAILURE, r"512x512 cells in f64 take 2\.02 MiB for two time levels on GPU 0 "
         r"\(CUDA on CPU\), which has 977 KiB free of 977 KiB",
         "use fewer cells, f32, or more GPUs")


def test_too_little_memory_for_ranks_that_share_a_gpu():
    """Each alone would fit."""
    end = run("solve", "laplace", "--cells", "512x512", "--ranks", "3", "--transport", "staged",
              env={"CUDA_ON_CPU_MEMORY_BYTES": "3000000", "CUDA_VISIBLE_DEVICES": "0"})
    told(end, FAILURE, r"take 4\.0\d MiB .* on GPU 0", r"2\.86 MiB free")


@pytest.mark.parametrize("words, code, patterns", [
    ("--memory nonsense", USAGE,
     ["no memory 'nonsense'", "auto, device, pinned, managed, system, host"]),
    ("--memory host --backend cuda", USAGE,
     ["cuda backend cannot sweep over host memory", "--memory system"]),
    ("--memory device --backend cpu", USAGE,
     ["cpu backend cannot sweep over device memory", "--memory host"]),
    ("--memory device --backend reference", USAGE, ["reference backend", "--memory host"]),
    ("--transport mpi", UNAVAILABLE,
     ["mpi cannot serve same-node pairs of fields in device memory", "same-node=peer"]),
    ("--transport shared --memory managed", UNAVAILABLE,
     ["shared cannot serve same-node pairs of fields in managed memory", "use auto"]),
    ("--transport staged --memory pinned", UNAVAILABLE, ["staged cannot serve", "same-node=mpi"]),
    ("--transport staged --backend cpu", UNAVAILABLE, ["staged cannot serve", "same-node=shared"]),
    ("--transport gpu_aware --memory system", UNAVAILABLE,
     ["gpu_aware cannot serve", "same-node=mpi"]),
    ("--transport peer --backend cpu", UNAVAILABLE,
     ["peer cannot serve same-node pairs of fields in host memory", "same-node=shared"]),
    ("--graph sometimes", USAGE, ["--graph cannot be 'sometimes'", "auto, on or off"]),
    ("--graph on --transport staged", UNAVAILABLE,
     ["cannot be recorded in CUDA graphs: transport staged needs the host", "transport peer"]),
    ("--schedule persistent --transport peer --process-grid 1x2 --graph on", UNAVAILABLE,
     ["cannot be recorded in CUDA graphs: schedule persistent", "in one launch"]),
    ("--graph on --backend cpu", UNAVAILABLE, ["backend cpu does not run on a GPU"]),
])
def test_refused(words, code, patterns):
    told(run("solve", *SMALL, *words.split(), "--ranks", "2"), code, *patterns)


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_driver_that_gives_no_access_to_ordinary_memory(ranks):
    end = run("solve", *SMALL, "--memory", "system", "--ranks", ranks,
              env={"CUDA_ON_CPU_PAGEABLE": "0"})
    told(end, UNAVAILABLE, "CUDA on CPU.* cannot use system memory",
         "pageableMemoryAccess is 0", "use device or managed memory")


# An MPI that takes a GPU's memory, or does not


def test_gpu_aware_that_was_shown_to_fail(tmp_path):
    words = [*SMALL, "--ranks", "2", "--proofs", tmp_path / "proofs.json"]
    for time_ in range(2):
        end = run("solve", *words, "--transport", "gpu_aware")
        told(end, UNAVAILABLE, "gpu_aware fails here, as a test showed: device memory between same-node "
             r"ranks, tested 20\d\d-\S+Z: (rank \d|a rank) was ended by signal 11",
             "UCX|MPIR_CVAR_ENABLE_GPU=1", "or use transport staged")
        assert end.err.count(TRYING) == (time_ == 0)
    report = solve_json(*words, "--verify", env=NO_PEER)
    assert report["transport"] == {"same-node": "staged"} and report["verified"] is True
    note, = [note for note in report["notes"] if "gpu_aware" in note]
    assert re.search("gpu_aware was left out: .* was ended by signal 11 .*; .* or use transport "
                     "staged", note)


def test_gpu_aware_that_works(tmp_path):
    words = [*SMALL, "--ranks", "3", "--proofs", tmp_path / "proofs.json", "--json", "-"]
    env = {**GPU_AWARE, **NO_PEER}
    end = run("solve", *words, "--transport", "gpu_aware", "--verify", env=env)
    assert end.code == 0 and end.err.count(TRYING) == 1
    report = json.loads(end.out)
    assert report["transport"] == {"same-node": "gpu_aware"} and report["verified"] is True
    assert not any("gpu_aware" in note for note in report["notes"])
    proofs = json.loads((tmp_path / "proofs.json").read_text())["proofs"]
    assert {(proof["pair"], proof["outcome"]) for proof in proofs} == {
        ("same-gpu", "works"), ("same-node", "works")}

    end = run("solve", *words, env=env)
    assert (end.code, end.err) == (0, ""), "a proof serves again"
    report = json.loads(end.out)
    taken = report["transport"]["same-node"]
    times = {race["transport"]: race["us"] for race in report["choice"]["transports"]}
    assert set(times) == {"gpu_aware", "staged"}
    other = {"gpu_aware": "staged", "staged": "gpu_aware"}[taken]
    assert times[taken] <= times[other] / 0.9, "the one that is clearly faster is taken"


def test_gpu_aware_is_proved_for_each_memory(tmp_path):
    words = [*SMALL, "--ranks", "2", "--memory", "managed", "--transport", "gpu_aware", "--proofs",
             tmp_path / "proofs.json", "--verify"]
    report = solve_json(*words)  # every MPI reads managed memory here
    assert report["transport"] == {"same-node": "gpu_aware"} and report["verified"] is True


def test_gpu_aware_that_nobody_tried(tmp_path):
    """Auto leaves it out, and says how to prove it."""
    report = solve_json(*SMALL, "--ranks", "2", "--proofs", tmp_path / "none.json",
                        env={"HALOCLINE_ASSUME_GPU": "0", **NO_PEER})
    assert report["transport"] == {"same-node": "staged"}
    assert any(re.search("gpu_aware was left out: no proof shows that it works with device memory .*; "
                         "a halocline command on two ranks or more proves it", note)
               for note in report["notes"])


@pytest.mark.parametrize("transport", ["gpu_aware", "same-node=gpu_aware"])
def test_last_words(transport, tmp_path):
    """Nobody tried it and the user insists: the rank that dies says of what."""
    end = run("solve", *SMALL, "--ranks", "2", "--transport", transport, "--proofs",
              tmp_path / "none.json", env={"HALOCLINE_ASSUME_GPU": "0"})
    assert end.code == FAILURE and "checksum" not in end.out
    assert re.search(r"halocline: rank \d crashes as MPI gets device memory for the first time "
                     r"\(transport gpu_aware\): .*; use transport staged, or auto\n", end.err)
    assert "halocline: a rank was ended by signal 11" in end.err


# Libraries that are found when the program runs: tests/cuda_on_cpu/libraries

FAULTS = {"nccl": "NCCL_ON_CPU", "nvshmem": "NVSHMEM_ON_CPU"}


@pytest.mark.parametrize("transport", FAULTS)
def test_a_library_carries_halos(transport, tmp_path):
    """It is proved, and then used; norms and graphs stay on the GPUs."""
    proofs = ["--proofs", tmp_path / "proofs.json"]
    first = run("solve", *SMALL, "--ranks", "2", "--transport", transport, *proofs)
    assert f"testing in a probe job whether transport {transport} works" in first.err
    for ranks in (2, 3):
        words = ["laplace", "--cells", "40x30", "--tolerance", "0", "--sweeps", "200"]
        alone = solve_json(*words)
        report = solve_json(*words, "--ranks", ranks, "--transport", transport, "--graph", "on",
                            *proofs)
        check_report(report)
        assert report["transport"] == {"same-node": transport}
        assert report["checksum"] == alone["checksum"]
        assert report["sweeps_in_graphs"] > 0
        assert any(re.search(r"\('.*', found by HALOCLINE_\w+\) took .* of each GPU to start", note)
                   for note in report["notes"])


@pytest.mark.parametrize("transport, fault, code, words", [
    ("nccl", "old", UNAVAILABLE, r"NCCL 2\.10\.3 at '.*' .*is too old: 2\.12\.10 is needed; .*HALOCLINE_NCCL.*nvidia-nccl"),
    ("nccl", "no-init", FAILURE, r"ncclCommInitRank: invalid usage: .* \(NCCL \d"),
    ("nccl", "no-interface", FAILURE, r"ncclGetUniqueId: invalid usage: Bootstrap : no socket interface "
     r"found \(NCCL .*\); .* NCCL_SOCKET_IFNAME selects; 'ip -brief address' lists"),
    ("nccl", "lost", FAILURE, r"NCCL lost another rank, or the network, in exchanges with rank 1 "
     r"\(field 'u', direction \+y\): ncclCommGetAsyncError: remote process exited"),
    ("nvshmem", "old", UNAVAILABLE, r"NVSHMEM 2\.9\.0 at '.*' .*is too old: 3\.0\.0 is needed; .*HALOCLINE_NVSHMEM.*nvidia-nvshmem"),
    ("nvshmem", "no-init", FAILURE, r"NVSHMEM \d.* did not start \(status 0; '.*'\)"),
    ("nvshmem", "small-heap", FAILURE, r"symmetric heap has no room for 2\.29 MiB; "
     r"NVSHMEM_SYMMETRIC_SIZE"),
])
def test_a_library_that_does_not_work(transport, fault, code, words, tmp_path):
    end = run("solve", "laplace", "--cells", "150000x4", "--process-grid", "1x2", "--sweeps", "2",
              "--tolerance", "0", "--ranks", "2", "--transport", transport, "--proofs",
              tmp_path / "proofs.json", env={"HALOCLINE_ASSUME_GPU": "0", FAULTS[transport]: fault})
    assert end.code == code and "checksum" not in end.out
    assert re.search(rf"^halocline: .*{words}", end.err, re.MULTILINE), end.err


@pytest.mark.parametrize("transport", FAULTS)
def test_a_library_that_is_not_there(transport):
    variable = f"HALOCLINE_{transport.upper()}"
    end = run("solve", *SMALL, "--ranks", "2", "--transport", transport,
              env={variable: "/nowhere/lib.so", "HALOCLINE_ASSUME_GPU": "0"})
    assert end.code == UNAVAILABLE
    assert re.search(f"'/nowhere/lib.so' .*{variable}.* cannot be loaded: ", end.err)


@pytest.mark.parametrize("transport", FAULTS)
@pytest.mark.parametrize("graph", ["on", "off"])
def test_a_library_that_waits_for_ever(transport, graph, tmp_path):
    """Nobody tried it: the rank says whom it waited for, and ends."""
    end = run("solve", *SMALL, "--ranks", "2", "--transport", transport, "--graph", graph,
              "--wait-limit", "2", "--proofs", tmp_path / "none.json",
              env={"HALOCLINE_ASSUME_GPU": "0", FAULTS[transport]: "hang"})
    assert end.code == FAILURE
    assert re.search(rf"rank \d has waited 2 s in .* for its own GPU .*; its GPU may wait in "
                     rf"{transport.upper()} for rank \d \(field 'u', direction [+-]\w\)", end.err), end.err


@pytest.mark.parametrize("order", ["thread", "lazy"])
def test_a_probe_whose_rank_lost_nccl_ends_in_time(order, mpirun):
    """Its other rank waits for its own GPU: with a limit, or in a call of CUDA, where only its launcher
    ends it."""
    options = mpirun(ranks=2)
    end = run("examine-paths", "--paths", "nccl:device", "--gpus", "as-in-runs", "--wait-limit", "3",
              program=options["program"], timeout=40,
              env={**options["env"], "NCCL_ON_CPU": "lost", "CUDA_ON_CPU_ORDER": order})
    assert end.code != 0
    assert "NCCL lost another rank" in end.out and '"is":"failed"' in end.out


@pytest.mark.parametrize("fault, call", [("no-free", "nvshmem_free"),
                                         ("no-end", "nvshmemx_hostlib_finalize")])
def test_an_nvshmem_that_does_not_come_to_its_end(fault, call, tmp_path):
    """Its calls wait for all ranks: the limit is theirs, too."""
    end = run("solve", *SMALL, "--ranks", "2", "--transport", "nvshmem", "--wait-limit", "2", "--proofs",
              tmp_path / "none.json", env={"HALOCLINE_ASSUME_GPU": "0", "NVSHMEM_ON_CPU": fault})
    assert end.code == FAILURE
    assert re.search(rf"rank \d: {call} has not returned for 2 s", end.err), end.err


def test_nccl_wants_a_gpu_for_each_rank(tmp_path):
    end = run("solve", *SMALL, "--ranks", "3", "--transport", "nccl", "--proofs", tmp_path / "p.json",
              env={"NCCL_MULTI_RANK_GPU_ENABLE": "0"})
    assert end.code == UNAVAILABLE
    assert re.search(r"takes one rank per GPU, but ranks 0 and 1 share GPU-", end.err)


# Formulas that are compiled when the program runs

WALLS_IN_TIME = """
axes = 2
cells = [24, 20]
parameters.dt = 0.5
[fields.u]
initial = "noise()"
boundary = { outside = "0.25*t" }
[update]
u = "0.25 * ((u[-1,0] + u[1,0]) + (u[0,-1] + u[0,1]))"
[stop]
sweeps = 6
"""


def test_what_walls_take_to_compile_is_told(tmp_path):
    """The kernels came with the program, but what is beyond the sides depends on time."""
    problem = tmp_path / "walls.toml"
    problem.write_text(WALLS_IN_TIME)
    expected = solve_json(problem, "--backend", "cpu", "--ranks", "1")
    report = solve_json(problem, "--backend", "cuda", "--ranks", "2")
    assert report["seconds"]["compile"] > 0
    assert report["checksum"] == expected["checksum"]


@pytest.mark.parametrize("fault, words", [("old", "is too old"), ("none", "was not found|cannot be loaded")])
def test_without_a_compiler_problem_files_run_on_the_cpu(fault, words, monkeypatch):
    monkeypatch.setenv("NVRTC_ON_CPU", fault)
    if fault == "none":
        monkeypatch.setenv("HALOCLINE_NVRTC", "/no/such/libnvrtc.so")
    end = run("solve", "gray_scott", "--cells", "32x32", "--sweeps", "2", "--ranks", "2")
    assert end.code == 0 and "backend       cpu" in end.out, end
    assert re.search(f"no GPU is used: .*NVRTC.*({words})", " ".join(end.out.split())), end
    end = run("solve", "gray_scott", "--cells", "32x32", "--sweeps", "2", "--ranks", "2", "--backend", "cuda")
    assert end.code == UNAVAILABLE and re.search(words, end.err) and "HALOCLINE_NVRTC" in end.err, end
    # What came with the program needs none.
    assert run("solve", *SMALL, "--backend", "cuda", "--ranks", "2").code == 0


def test_words_of_the_compiler_are_shown(monkeypatch):
    monkeypatch.setenv("NVRTC_ON_CPU", "refuses")
    end = run("solve", "gray_scott", "--cells", "32x32", "--sweeps", "2", "--ranks", "2", "--backend", "cuda")
    assert end.code == FAILURE and "formula.cu(1): error: refused" in end.err, end


def test_the_driver_translates_for_gpus_that_the_compiler_does_not_know(monkeypatch):
    monkeypatch.setenv("NVRTC_ON_CPU", "no-such-gpu")
    solve("life", "--sweeps", "2", "--ranks", "1", "--backend", "cuda")
