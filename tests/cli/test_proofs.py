# SPDX-License-Identifier: Apache-2.0
"""What MPI does with a GPU's memory is shown in a job of its own, once."""

import json

import pytest

from command import HALOCLINE, run

SMALL = ["solve", "laplace", "--cells", "40x30", "--sweeps", "5"]
TRYING = "note: testing in a probe job whether MPI accepts GPU memory"


@pytest.fixture
def solve(tmp_path):
    """Solves as if there were a GPU; proofs go to a file of this test's own."""
    path = tmp_path / "proofs.json"

    def run_it(*words, ranks=2, env=None, **options):
        started = options.get("program") is not None
        words = [*SMALL, *words, "--proofs", path, *([] if started else ["--ranks", ranks])]
        env = {"HALOCLINE_ASSUME_GPU": "1", **options.pop("env_of_launcher", {}), **(env or {})}
        end = run(*words, env=env, **options)
        assert end.code == 0, end
        return end

    run_it.path = path
    run_it.proofs = lambda: json.loads(path.read_text())["proofs"]
    return run_it


def under(mpirun, ranks=2):
    options = mpirun(ranks=ranks)
    return {"program": options["program"], "env_of_launcher": options["env"]}


def tells_the_outcome(end, solve):
    """Either there is a proof now, or it is said why there is none."""
    if solve.path.exists():
        return {proof["memory"] for proof in solve.proofs()} == {"device"}
    return "gpu_aware is not proved for same-gpu pairs: device memory could not be tried" in end.err


def test_smoke_the_probe(mpirun):
    end = run("examine-paths", "--paths", "mpi:host", "--bytes", "8,300008", "--untimed", **mpirun(ranks=2))
    assert end.code == 0, end
    mark = "halocline-probe: "
    assert all(line.startswith(mark) for line in end.out.splitlines()), end
    lines = [json.loads(line.removeprefix(mark)) for line in end.out.splitlines()]
    path = {"path": "mpi:host"}
    assert lines == [
        {"pairs": {**path, "kinds": ["same-node"]}},
        {"trying": {**path, "bytes": 8}}, {"arrived": {**path, "bytes": 8, "us": 0}},
        {"trying": {**path, "bytes": 300008}}, {"arrived": {**path, "bytes": 300008, "us": 0}},
        {"outcome": {**path, "is": "works", "how": "", "refused": False}}, {"ends": True}]


def test_the_probe_is_not_for_people(mpirun):
    assert "examine-paths" not in run("--help").out
    end = run("examine-paths", "--paths", "mpi:host")
    assert end.code == 2 and "mpirun -n 2" in end.err
    for words in (["--paths", "mpi:paper"], ["--bytes", "0"], ["--bytes", "many"], ["extra"]):
        assert run("examine-paths", *words).code == 2


def test_is_tried_before_ranks_are_started(solve):
    end = solve()
    assert end.err.count(TRYING) == 1 and str(solve.path) in end.err
    assert tells_the_outcome(end, solve), end


def test_smoke_is_tried_by_the_first_rank(solve, mpirun):
    end = solve(**under(mpirun))
    assert end.err.count(TRYING) == 1 and str(solve.path) in end.err
    assert tells_the_outcome(end, solve), end


def test_is_not_tried_where_no_memory_of_a_gpu_is_sent(solve, gpu):
    for words in (["--backend", "cpu"], ["--backend", "reference"],
                  ["--transport", "staged" if gpu else "mpi"]):
        assert TRYING not in solve(*words).err


def test_is_not_tried_for_one_rank_or_without_a_gpu(solve):
    assert TRYING not in solve(ranks=1).err
    assert TRYING not in solve(env={"HALOCLINE_ASSUME_GPU": "0"}).err


def test_is_not_talked_about_when_quiet(solve):
    assert solve("--quiet").err == ""


def test_a_file_that_is_none_of_ours(solve):
    solve.path.write_text("my thesis")
    end = solve()
    assert end.err.count("not a file of proofs") == 1 + end.err.count("was not changed")
    assert solve.path.read_text() == "my thesis"


@pytest.mark.parametrize("started_by", ["itself", "a launcher"])
def test_mpi_that_crashes(started_by, solve, mpirun, emulation):
    """Device memory that the host cannot read, and an MPI that does not know: memcpy crashes."""
    options = under(mpirun) if started_by == "a launcher" else {}
    for time in range(2):
        end = solve(**options)
        assert end.err.count(TRYING) == (1 if time == 0 else 0), "a failure is remembered"
    proof, = solve.proofs()
    assert (proof["outcome"], proof["pair"], proof["signal"]) == ("failed", "same-gpu", 11)
    assert "was ended by signal 11 (Segmentation fault), while sending 8 bytes" in proof["how"]
    assert proof["sizes"] == [8]


@pytest.mark.parametrize("started_by", ["itself", "a launcher"])
def test_mpi_that_works(started_by, solve, mpirun, emulation):
    options = under(mpirun) if started_by == "a launcher" else {}
    options["env"] = {"CUDA_ON_CPU_DEVICE_MEMORY": "host-readable"}
    for time in range(2):
        end = solve(**options)
        assert end.err.count(TRYING) == (1 if time == 0 else 0)
    proof, = solve.proofs()
    assert proof["outcome"] == "works" and proof["sizes"][-1] == 16777216
    assert "CUDA_ON_CPU_DEVICE_MEMORY=host-readable" in proof["ingredients"]


def test_a_proof_of_ones_own_serves_both_ways_of_starting(solve, mpirun, emulation):
    env = {"CUDA_ON_CPU_DEVICE_MEMORY": "host-readable"}
    solve(env=env)
    assert TRYING not in solve(env=env, **under(mpirun)).err
    assert len(solve.proofs()) == 1


@pytest.mark.parametrize("started_by", ["itself", "a launcher"])
def test_settings_within_the_launchers_command(started_by, solve, mpirun, emulation):
    """Ranks see --mca and -genv as variables, and must find the proof that was made for them."""
    words, name = (("--mca mpi_leave_pinned 0", "OMPI_MCA_mpi_leave_pinned") if mpirun.is_open_mpi
                   else ("-genv UCX_ZCOPY_THRESH 12345", "UCX_ZCOPY_THRESH"))
    options = under(mpirun) if started_by == "a launcher" else {}
    options["env"] = {"CUDA_ON_CPU_DEVICE_MEMORY": "host-readable", "CUDA_ON_CPU_DEVICES": "1",
                      "HALOCLINE_LAUNCHER": f"{mpirun.path} {words}"}
    for time in range(2):
        end = solve(**options)
        assert end.err.count(TRYING) == (1 if time == 0 else 0)
    # Times nothing, and says so, if its ranks do not find the proof.
    by_itself = started_by == "itself"
    timed = run("bench", "p2p", "--memory", "device", "--transport", "gpu_aware", "--sizes", "8",
                "--repetitions", "3", "--proofs", solve.path, *(["--ranks", 2] if by_itself else []),
                program=(HALOCLINE,) if by_itself else options["program"],
                env={"HALOCLINE_ASSUME_GPU": "1", **options.get("env_of_launcher", {}),
                     **options["env"]})
    assert timed.code == 0 and TRYING not in timed.err, timed
    proof, = solve.proofs()
    # Ranks that a launcher started by hand have what that one gave them, and so have probe jobs.
    assert any(line.startswith(name) for line in proof["ingredients"]) == by_itself


def test_memory_of_the_other_kind(solve, emulation):
    env = {"CUDA_ON_CPU_DEVICE_MEMORY": "host-readable"}
    solve("--memory", "managed", env=env)
    assert [proof["memory"] for proof in solve.proofs()] == ["managed"]
