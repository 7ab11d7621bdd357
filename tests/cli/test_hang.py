# SPDX-License-Identifier: Apache-2.0
"""A rank that is stopped or killed ends the run, with a text that names it; nothing stays."""

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
    # Hydra ends with a code of its own, 1, if it is late to see how the second rank ends.
    for _ in range(3):
        end = run("solve", "heat", "--sweeps", "5", "--ranks", "2", "--wait-limit", WAIT_LIMIT,
                  env=preload(FINALIZE_HANGS), timeout=160)
        if end.code == 4:
            break
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


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_ends_all_ranks(name):
    with started(*endless(SMALL, "shared"), "--ranks", "3") as job:
        in_mid_run(job)
        job.child.send_signal(getattr(signal, name))
        end = job.finish(timeout=120)
    assert end.code not in (0, 1) and "checksum" not in end.out
    assert f"signal {getattr(signal, name).value} " in end.err


def test_nothing_survives_a_command_that_is_killed():
    with started(*endless(SMALL, "shared"), "--ranks", "3") as job:
        in_mid_run(job)
        job.child.kill()
        job.child.wait()
        assert not job.wait_until_gone(seconds=10)


@pytest.mark.parametrize("limit", ["0", "1e300", "inf"])
def test_a_limit_may_be_never(limit):
    end = run("solve", "laplace", "--cells", "40x30", "--ranks", "2", "--wait-limit", limit)
    assert (end.code, end.err) == (0, "")
