# SPDX-License-Identifier: Apache-2.0
"""A rank that is stopped or killed ends the run, with a text that names it; nothing stays."""

import contextlib
import os
import re
import signal
import time

import pytest

from command import FINALIZE_HANGS, put_script, run, started, thorough, wait_for

# Seconds. A rank that was stopped for less than 1.5 s believes that it has waited.
WAIT_LIMIT = 2

# Rows of 1 KiB go out at once, those of 64 KiB are only sent when the other rank takes them.
SMALL, LARGE = "128x96", "8192x48"


def endless(cells, transport):
    return ["solve", "laplace", "--cells", cells, "--norm", "none", "--sweeps", "1000000000",
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
    rank: who is next to it, for that one. The launcher ends all when the first has spoken, and which one
    that is the processors' other work decides. The stopped rank, which the launcher wakes up to end it, has
    waited for nobody."""
    named = set()
    for line in re.findall("^halocline: (rank .*)", err, re.MULTILINE):
        match = re.match(rf"rank (\d) has waited {WAIT_LIMIT} s in .* for rank (\d) \(field 'u', direction ([+-])y\)",
                         line)
        assert match, line
        assert line.endswith("(--wait-limit sets how long to wait)"), line
        rank, peer, step = int(match[1]), int(match[2]), int(match[3] + "1")
        assert rank != stopped and peer == rank + step and (stopped - rank) * step > 0, line
        named.add(peer)
    return named


@pytest.mark.parametrize("transport, cells, rank", [
    ("mpi", LARGE, 1), ("shared", SMALL, 2), pytest.param("mpi", SMALL, 0, marks=thorough),
    pytest.param("shared", LARGE, 1, marks=thorough)])
def test_a_stopped_rank_is_named(transport, cells, rank):
    with started(*endless(cells, transport), "--ranks", "3") as job:
        end = stop_a_rank(job, rank)
    assert end.code == 4 and "checksum" not in end.out
    # Of three ranks in a row all are next to the middle one, and one is next to an outer one.
    assert ranks_named(end.err, rank) in ([{1}] if rank == 1 else [{rank}, {1}, {rank, 1}]), end.err


def test_a_stopped_rank_is_named_under_a_launcher(mpirun):
    with started(*endless(SMALL, "shared"), **mpirun(ranks=3)) as job:
        end = stop_a_rank(job, rank=1)
    assert end.code == 4
    assert ranks_named(end.err, stopped=1) == {1}, end.err


def test_smoke_an_mpi_that_hangs_at_its_end_is_named(preload):
    end = run("solve", "heat", "--sweeps", "5", "--ranks", "2", "--wait-limit", WAIT_LIMIT,
              env=preload(FINALIZE_HANGS), timeout=160)
    assert end.code == 4 and "checksum" in end.out, "the result is whole"
    assert re.search(rf"^halocline: rank [01]: MPI_Finalize has not returned for {WAIT_LIMIT} s; .*; "
                     "this rank had finished its work$", end.err, re.MULTILINE), end.err


@pytest.mark.parametrize("transport", [pytest.param("mpi", marks=thorough), "shared"])
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


@pytest.mark.parametrize("name, times", [
    ("SIGUSR1", 1), ("SIGINT", 20), *(pytest.param(name, 1, marks=thorough) for name in ENDING if name != "SIGUSR1")])
def test_a_signal_ends_all_ranks(name, times, tmp_path):
    env = {"TMPDIR": str(tmp_path)}
    with started(*endless(SMALL, "shared"), "--ranks", "3", env=env) as job:
        assert_ended_by(job, name, times, tmp_path)


def test_smoke_a_signal_ends_a_launcher_that_ignores_it(mpirun, tmp_path):
    """Then MPI's files are removed by us."""
    script = put_script(tmp_path / "stubborn", f'[ "$1" = --version ] && exec "{mpirun.path}" "$@"\n'
                        f'trap "" INT TERM\nsetsid -w "{mpirun.path}" "$@"\nsleep 100\n')
    env = {"TMPDIR": str(tmp_path), "HALOCLINE_LAUNCHER": str(script),
           "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
           "OMPI_MCA_rmaps_base_oversubscribe": "1"}
    with started(*endless(SMALL, "shared"), "--ranks", "3", env=env) as job:
        assert_ended_by(job, "SIGTERM", 1, tmp_path)


def test_smoke_a_signal_is_heard_while_a_launcher_is_asked(tmp_path):
    script = put_script(tmp_path / "slow", "sleep 100\n")
    with started("solve", "heat", "--ranks", "2", env={"HALOCLINE_LAUNCHER": str(script)}) as job:
        wait_for(lambda: len(job.processes()) >= 2)
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
        # The ranks end, since their launcher takes what they print.
        wait_for(job.ranks)
        wait_for(lambda: not job.ranks())
        time.sleep(0.5)
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
    words[words.index("--sweeps") + 1] = "200000"
    with started(*words, "--ranks", "3") as job:
        ranks = in_mid_run(job)
        job.child.send_signal(signal.SIGTSTP)
        wait_for(lambda: {state(pid) for pid in (job.child.pid, *ranks.values())} == {"T"}, seconds=20)
        time.sleep(1.25 * WAIT_LIMIT)
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
