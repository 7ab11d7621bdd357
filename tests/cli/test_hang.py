# SPDX-License-Identifier: Apache-2.0
"""A rank that is stopped or killed ends the run, with a text that names it; nothing stays."""

import contextlib
import os
import re
import signal
import time

import pytest

from command import FINALIZE_HANGS, run, started

WAIT_LIMIT = 2  # seconds

# Rows of 1 KiB go out at once, those of 64 KiB are only sent when the other rank takes them.
SMALL, LARGE = "128x96", "8192x48"


def endless(cells, transport):
    return ["solve", "laplace", "--cells", cells, "--tolerance", "0", "--sweeps", "1000000000",
            "--process-grid", "1x3", "--transport", transport, "--wait-limit", WAIT_LIMIT,
            "--backend", "cpu"]


def in_mid_run(job, ranks=3):
    """Waits until every rank has worked for a while; returns rank: process id."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        found = job.ranks()
        if len(found) == ranks and all(processor_seconds(pid) > 0.3 for pid in found.values()):
            return found
        time.sleep(0.05)
    pytest.fail(f"{ranks} ranks did not get to work: {found}")


def processor_seconds(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
    except OSError:
        return 0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def stop_a_rank(job, rank):
    """Stops it and returns how the others end."""
    os.kill(in_mid_run(job)[rank], signal.SIGSTOP)
    return job.finish(timeout=WAIT_LIMIT + 120)


def ranks_named(err, stopped):
    """Returns the ranks that others say they wait for. Each waits for the neighbour towards the stopped
    rank; that one, which the launcher wakes up to end it, has waited for nobody."""
    claims = set()
    for line in re.findall("^halocline: (rank .*)", err, re.MULTILINE):
        match = re.match(r"rank (\d) has waited 2 s in .* for (?:rank (\d) \(field 'u', direction "
                         r"([+-])y\)|every rank's norm|the other ranks)", line)
        assert match, line
        assert line.endswith("(--wait-limit sets how long to wait)"), line
        rank, peer, direction = match.groups()
        assert int(rank) != stopped, line
        if peer:
            assert int(peer) - int(rank) == int(direction + "1"), line
            assert (stopped - int(rank)) * int(direction + "1") > 0, line
            claims.add(int(peer))
    assert claims, err
    return claims


@pytest.mark.parametrize("transport, cells, rank", [("mpi", SMALL, 1), ("mpi", LARGE, 0),
                                                    ("shared", SMALL, 1), ("shared", LARGE, 2)])
def test_a_stopped_rank_is_named(transport, cells, rank):
    # The waits of its neighbour and of the rank behind that begin within a sweep. The launcher ends all
    # when the first of the two has spoken, and which one that is the processors' other work decides.
    for _ in range(4):
        with started(*endless(cells, transport), "--ranks", "3") as job:
            end = stop_a_rank(job, rank)
        assert end.code == 4 and "checksum" not in end.out
        if rank in ranks_named(end.err, rank):
            return
    pytest.fail(f"only ranks farther away spoke: {end.err}")


def test_a_stopped_rank_is_named_under_a_launcher(mpirun):
    with started(*endless(SMALL, "shared"), **mpirun(ranks=3)) as job:
        end = stop_a_rank(job, rank=1)
    assert end.code == 4
    assert 1 in ranks_named(end.err, stopped=1)


def test_smoke_an_mpi_that_hangs_at_its_end_is_named(preload):
    end = run("solve", "heat", "--sweeps", "5", "--ranks", "2", "--wait-limit", WAIT_LIMIT,
              env=preload(FINALIZE_HANGS), timeout=160)
    assert end.code == 4 and "checksum" in end.out, "the result is whole"
    assert re.search(r"^halocline: rank [01]: MPI_Finalize has not returned for 2 s; .*; "
                     "this rank had finished its work$", end.err, re.MULTILINE), end.err


@pytest.mark.parametrize("transport", ["mpi", "shared"])
def test_smoke_a_killed_rank_ends_the_run(transport):
    with started(*endless(SMALL, transport), "--ranks", "3") as job:
        os.kill(in_mid_run(job)[1], signal.SIGKILL)
        end = job.finish(timeout=120)
    assert end.code == 4 and "checksum" not in end.out
    assert re.search(r"^halocline: a rank was ended by signal 9 \(Killed\)$", end.err,
                     re.MULTILINE), end.err


ENDING = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGXCPU"]


def shared_files(job):
    """What the ranks have in /dev/shm by name."""
    files = set()
    for pid in job.ranks().values():
        with open(f"/proc/{pid}/maps") as maps:
            files.update(re.findall(r"(/dev/shm/\S+)(?! \(deleted\))$", maps.read(), re.MULTILINE))
    return files


def assert_ended_by(job, name, times, folder):
    """The signal ends the run, in time, with a word of it; and nothing stays."""
    in_mid_run(job)
    files = shared_files(job)
    for _ in range(times):
        job.child.send_signal(getattr(signal, name))
        time.sleep(0.01)
    end = job.finish(timeout=20)  # two seconds, on a machine that does nothing else
    assert end.code == 4 and "checksum" not in end.out
    lines = [line for line in end.err.splitlines() if "signal" in line]
    assert len(lines) == 1 and f"signal {getattr(signal, name).value} " in lines[0], end.err
    assert not [path for path in files if os.path.exists(path)]
    assert not [path for path in folder.rglob("pid.*")]


@pytest.mark.parametrize("name, times", [*((name, 1) for name in ENDING), ("SIGINT", 20)])
def test_a_signal_ends_all_ranks(name, times, tmp_path):
    env = {"TMPDIR": str(tmp_path)}
    with started(*endless(SMALL, "shared"), "--ranks", "3", env=env) as job:
        assert_ended_by(job, name, times, tmp_path)


def test_smoke_a_signal_ends_a_launcher_that_ignores_it(mpirun, tmp_path):
    """Then MPI's files are removed by us."""
    script = tmp_path / "stubborn"
    script.write_text(f'#!/bin/sh\ntrap "" INT TERM\nsetsid -w "{mpirun.path}" "$@"\nsleep 100\n')
    script.chmod(0o755)
    env = {"TMPDIR": str(tmp_path), "HALOCLINE_LAUNCHER": str(script),
           "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
           "OMPI_MCA_rmaps_base_oversubscribe": "1"}
    with started(*endless(SMALL, "shared"), "--ranks", "3", env=env) as job:
        assert_ended_by(job, "SIGTERM", 1, tmp_path)


def test_smoke_a_signal_is_heard_while_a_launcher_is_asked(tmp_path):
    script = tmp_path / "slow"
    script.write_text("#!/bin/sh\nsleep 100\n")
    script.chmod(0o755)
    with started("solve", "heat", "--ranks", "2", env={"HALOCLINE_LAUNCHER": str(script)}) as job:
        end = time.monotonic() + 60
        while len(job.processes()) < 2 and time.monotonic() < end:
            time.sleep(0.05)
        job.child.send_signal(signal.SIGTERM)
        end = job.finish(timeout=8)  # of the ten that a launcher has
    assert end.code == 4 and "signal 15 " in end.err


def test_a_signal_is_heard_though_nobody_reads():
    read, write = os.pipe()
    os.set_blocking(write, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(write, bytes(4096))
    os.set_blocking(write, True)
    with started("solve", "heat", "--sweeps", "3", "--ranks", "2", stdout=write) as job:
        time.sleep(3)
        assert job.child.poll() is None, "it has something to print"
        job.child.send_signal(signal.SIGTERM)
        end = job.finish(timeout=20)
    assert end.code == 4 and "signal 15 " in end.err
    assert os.get_blocking(write), "others share this pipe"
    os.close(read)
    os.close(write)


def state(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rsplit(")", 1)[1].split()[0]


def test_a_stopped_command_stops_its_ranks():
    words = [*endless(SMALL, "shared")]
    words[words.index("--sweeps") + 1] = "100000"
    with started(*words, "--ranks", "3") as job:
        ranks = in_mid_run(job)
        job.child.send_signal(signal.SIGTSTP)
        end = time.monotonic() + 20
        stopped = [job.child.pid, *ranks.values()]
        while {state(pid) for pid in stopped} != {"T"} and time.monotonic() < end:
            time.sleep(0.05)
        assert {state(pid) for pid in stopped} == {"T"}
        time.sleep(2 * WAIT_LIMIT)
        job.child.send_signal(signal.SIGCONT)
        end = job.finish(timeout=200)
    assert end.code == 0 and "checksum" in end.out, end
    assert end.err == ""


def test_nothing_survives_a_command_that_is_killed():
    with started(*endless(SMALL, "shared"), "--ranks", "3") as job:
        in_mid_run(job)
        job.child.kill()
        job.child.wait()
        assert not job.wait_until_gone(seconds=10)


@pytest.mark.parametrize("limit", ["0", "1e300"])
def test_a_limit_may_be_never(limit):
    end = run("solve", "laplace", "--cells", "40x30", "--ranks", "2", "--wait-limit", limit)
    assert (end.code, end.err) == (0, "")
