# SPDX-License-Identifier: Apache-2.0
"""Runs that are stopped and go on: `--checkpoint`, `--restart`, signals, and what a kill leaves behind."""

import contextlib
import json
import os
import random
import re
import signal
import time

import pytest

from command import put_script, run, started, thorough, wait_for
from schema import check_report

WRONG, FAILURE, STOPPED = 1, 4, 5
SWEEPS = 2000
WAVE = ["wave_sponge", "--cells", "90x80", "--norm", "max", "--norm-every", "7"]
ALL = ["--sweeps", SWEEPS]
# Longer than any test: they all stop it.
FLAT = ["laplace", "--cells", "300x300", "--norm", "none"]
ENDLESS = [*FLAT, "--sweeps", "1000000000"]


def report_in(folder):
    report = json.loads((folder / "report.json").read_text())
    check_report(report)
    return report


def solve(*words, code=0, cwd, **options):
    end = run("solve", *words, "--json", "report.json", cwd=cwd, **options)
    assert end.code == code, end
    return report_in(cwd), end


def checkpoints(folder):
    with contextlib.suppress(FileNotFoundError):
        return sorted(path.name for path in folder.glob("sweep-*.vtkhdf"))
    return []


def left_behind(folder):
    return [name for name in os.listdir(folder) if not name.startswith("sweep-")]


def same_end(report, whole):
    """The same bits; sums are added in another order on other ranks."""
    for key in ("sweeps", "norm_history", "converged"):
        assert report[key] == whole[key], key
    assert checksums(report) == checksums(whole)


def checksums(report):
    return {name: field["checksum"] for name, field in report["fields"].items()}


def test_files_are_written_beside_the_sweeps_or_between_them(tmp_path):
    words = [*WAVE, *ALL, "--ranks", "2", "--checkpoint-every", "400", "--output", "u.npy", "--output-every", "500"]
    for writing in ("auto", "beside", "between"):
        folder = tmp_path / writing
        folder.mkdir()
        report, end = solve(*words, "--checkpoint", "saved", "--writing", writing, cwd=folder)
        told = report["writing"]
        if writing == "between":
            assert told["beside_sweeps"] is False and told["copies_in"] is None
            assert re.search(r"files +between the sweeps, which waited \d.*s, because --writing asks for that", end.out)
        else:
            assert told["beside_sweeps"] is True and told["why_not"] is None
            assert told["copies_bytes"] > 0
            assert re.search(r"files +during the sweeps, from .* of copies in (host|device) memory; the sweeps waited",
                             end.out), end.out
        assert left_behind(folder / "saved") == []
    names = sorted(path.name for path in (tmp_path / "between").glob("u-*.npy"))
    assert len(names) == int(SWEEPS) // 500 + 1
    for name in names:
        assert (tmp_path / "auto" / name).read_bytes() == (tmp_path / "between" / name).read_bytes()
    end = run("solve", "laplace", "--writing", "sideways", cwd=tmp_path)
    assert end.code == 2 and "--writing cannot be 'sideways'; use auto, beside or between" in end.err


def test_cells_are_checked_on_the_way(tmp_path):
    whole, _ = solve(*WAVE, *ALL, cwd=tmp_path)
    report, end = solve(*WAVE, *ALL, "--verify-every", "50", "--ranks", "2", cwd=tmp_path)
    same_end(report, whole)
    assert whole["spot_checks"] is None
    told = report["spot_checks"]
    assert told["sweeps"] == int(SWEEPS) // 50 and told["cells"] > 0 and told["wrong"] is None
    assert re.search(rf"spot checks +{told['cells']} cells of {told['sweeps']} sweeps recomputed, no difference",
                     end.out), end.out
    end = run("solve", *WAVE, "--verify-every", "0", cwd=tmp_path)
    assert end.code == 2 and "cannot verify every 0 sweeps; use at least 1 for --verify-every" in end.err


def change_some_cells(pid, least_bytes):
    """Writes to the fields of a process, as broken memory does: all that is mapped at such a size."""
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
        for line in maps:
            found = re.match(r"(\w+)-(\w+) rw-p 00000000 00:00 0 *$", line)
            begin, end = (int(word, 16) for word in found.groups()) if found else (0, 0)
            if end - begin < least_bytes:
                continue
            for place in range(begin + 4096, end - 4096, 8 * 1009):
                memory.seek(place)
                memory.write(b"\x3f" * 8)


def test_a_wrong_bit_ends_a_run_without_more_files(tmp_path):
    cells = 2048 * 2048
    with started("solve", "laplace", "--cells", "2048x2048", "--sweeps", "1000000000", "--norm", "none",
                 "--sweeps-per-pass", "1", "--verify-every", "3", "--backend", "cpu", "--output", "u.npy",
                 "--checkpoint", "saved", "--checkpoint-every", "40", "--json", "report.json",
                 cwd=tmp_path) as job:
        wait_for(lambda: len(checkpoints(tmp_path / "saved")) == 2)
        for _ in range(100):  # between the two sweeps that the check compares
            if job.child.poll() is not None:
                break
            with contextlib.suppress(OSError):  # it has ended meanwhile
                change_some_cells(job.child.pid, 8 * cells)
            time.sleep(0.05)
        end = job.finish(timeout=60)
    report = report_in(tmp_path)
    assert end.code == WRONG, end
    wrong = re.search(r"wrong result: (after (\d+) sweeps on rank 0 cell \(\d+, \d+\) of field 'u' is \S+, but the "
                      r"reference gives \S+)$", end.err, re.MULTILINE)
    assert wrong, end
    assert report["spot_checks"]["wrong"] == wrong[1] and report["sweeps"] == int(wrong[2])
    assert int(wrong[2]) % 3 == 1
    assert not (tmp_path / "u.npy").exists()
    assert len(checkpoints(tmp_path / "saved")) == 2
    assert all(int(re.sub(r"\D", "", name[:18])) < int(wrong[2]) for name in checkpoints(tmp_path / "saved"))


def test_smoke_a_run_goes_on_with_other_ranks_and_no_problem(tmp_path):
    whole, _ = solve(*WAVE, *ALL, cwd=tmp_path)
    first, end = solve(*WAVE, "--sweeps", "1000", "--ranks", "2", "--checkpoint", "saved", "--checkpoint-every",
                       "400", cwd=tmp_path)
    assert checkpoints(tmp_path / "saved") == ["sweep-000000000800.vtkhdf", "sweep-000000001000.vtkhdf"]
    assert first["checkpoints"]["written"] == 3 and first["checkpoints"]["last"] == 1000
    assert first["restart"] is None and first["stopped_by"] is None
    assert re.search(r"checkpoints +3 in 'saved'", end.out), end.out
    second, end = solve("--restart", "saved", "--sweeps", SWEEPS, "--ranks", "3", cwd=tmp_path)
    same_end(second, whole)
    assert second["restart"] == {"path": "saved/sweep-000000001000.vtkhdf", "sweeps": 1000}
    assert re.search(r"restart +from 1000 sweeps of 'saved/sweep-000000001000.vtkhdf'", end.out), end.out
    assert left_behind(tmp_path / "saved") == []


def line_that_goes_on(end):
    found = re.search(r"to continue: (halocline solve .*)$", end.out + end.err, re.M)
    assert found, end
    return found[1].split()[1:]


@pytest.mark.parametrize("number, ranks", [
    ("SIGTERM", 2), ("SIGINT", 1), *(pytest.param(*row, marks=thorough) for row in (
        ("SIGTERM", 1), ("SIGINT", 2), ("SIGUSR1", 2), ("SIGUSR2", 1), ("SIGHUP", 2)))])
def test_a_signal_stops_a_run_that_goes_on(number, ranks, tmp_path):
    with started("solve", *ENDLESS, "--checkpoint", "saved", "--ranks", ranks, "--json", "report.json",
                 cwd=tmp_path) as job:
        # The folder is made once the command listens; a moment later it sweeps.
        wait_for((tmp_path / "saved").exists)
        time.sleep(0.5)
        os.kill(job.child.pid, getattr(signal, number))
        end = job.finish(timeout=60)
    assert end.code == STOPPED, end
    report = report_in(tmp_path)
    assert report["stopped_by"] == number and report["sweeps"] > 0
    assert checkpoints(tmp_path / "saved") == [f"sweep-{report['sweeps']:012}.vtkhdf"]
    assert left_behind(tmp_path / "saved") == []
    sweeps = report["sweeps"] + 5
    more, _ = solve(*line_that_goes_on(end)[1:], "--sweeps", sweeps, cwd=tmp_path)
    plain, _ = solve(*FLAT, "--sweeps", sweeps, cwd=tmp_path)
    same_end(more, plain)


@pytest.mark.parametrize("name", ["TERM", pytest.param("INT", marks=thorough)])
def test_a_signal_while_ranks_are_started_stops_them_in_good_order(name, mpirun, tmp_path):
    script = put_script(tmp_path / "launcher",
                        f'[ "$1" = --version ] || kill -{name} $PPID\nexec "{mpirun.path}" "$@"\n')
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    end = run("solve", *ENDLESS, "--checkpoint", "saved", "--ranks", 2, cwd=tmp_path,
              env={"HALOCLINE_LAUNCHER": str(script), "TMPDIR": str(temporary),
                   "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
    assert end.code == STOPPED and line_that_goes_on(end)[:3] == ["solve", "--restart", "saved"], end
    assert len(checkpoints(tmp_path / "saved")) == 1 and left_behind(tmp_path / "saved") == []
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("to", ["rank", "launcher"])
def test_a_signal_under_a_launcher_stops_all(to, mpirun, tmp_path):
    """Launchers pass SIGUSR1 on and wait, whereas other signals make them end the job."""
    options = mpirun(ranks=3)
    with started("solve", *ENDLESS, "--checkpoint", "saved", cwd=tmp_path, **options) as job:
        wait_for(lambda: (tmp_path / "saved").exists() and len(job.ranks()) == 3)
        time.sleep(0.5)
        os.kill(job.ranks()[2] if to == "rank" else job.child.pid, signal.SIGUSR1)
        end = job.finish(timeout=60)
    assert "SIGUSR1" in end.out, end
    assert line_that_goes_on(end)[:3] == ["solve", "--restart", "saved"]
    assert len(checkpoints(tmp_path / "saved")) == 1


def test_a_file_in_the_folder_stops_a_run(tmp_path):
    with started("solve", *ENDLESS, "--checkpoint", "saved", "--ranks", "2", cwd=tmp_path) as job:
        wait_for((tmp_path / "saved").exists)
        time.sleep(0.5)
        (tmp_path / "saved" / "stop").touch()
        end = job.finish(timeout=60)
    assert end.code == STOPPED and "saved/stop" in end.out, end
    assert left_behind(tmp_path / "saved") == []


@pytest.mark.parametrize("ranks", [pytest.param(1, marks=thorough), 2])
def test_a_second_interrupt_ends_at_once(ranks, tmp_path, preload):
    # A disk on which a checkpoint takes longer than anybody waits.
    env = preload("#include <unistd.h>\nint fsync(int file) { (void)file; sleep(60); return 0; }")
    with started("solve", *ENDLESS, "--checkpoint", "saved", "--ranks", ranks, cwd=tmp_path, env=env) as job:
        wait_for((tmp_path / "saved").exists)
        time.sleep(0.5)
        os.kill(job.child.pid, signal.SIGINT)
        time.sleep(1)
        begun = time.monotonic()
        os.kill(job.child.pid, signal.SIGINT)
        end = job.finish(timeout=30)
    assert time.monotonic() - begun < 10
    assert end.code not in (0, STOPPED), end
    assert checkpoints(tmp_path / "saved") == []


def test_without_checkpoints_a_signal_ends_a_run_as_ever(tmp_path):
    with started("solve", *ENDLESS, cwd=tmp_path) as job:
        time.sleep(1)
        os.kill(job.child.pid, signal.SIGTERM)
        end = job.finish(timeout=30)
    assert end.code == -signal.SIGTERM, end


def test_checkpoints_by_the_clock(tmp_path):
    with started("solve", *ENDLESS, "--checkpoint", "saved", "--checkpoint-every", "0.2s", "--ranks", "2",
                 cwd=tmp_path) as job:
        seen = set()

        def has_seen_four():
            seen.update(checkpoints(tmp_path / "saved"))
            return len(seen) >= 4
        wait_for(has_seen_four)
        os.kill(job.child.pid, signal.SIGTERM)
        assert job.finish(timeout=60).code == STOPPED
    assert len(checkpoints(tmp_path / "saved")) == 2


def test_without_hdf5_there_are_checkpoints_all_the_same(tmp_path):
    none = {"HALOCLINE_HDF5": str(tmp_path / "no-such-library.so")}
    solve("laplace", "--cells", "30x20", "--sweeps", "10", "--checkpoint", "saved", cwd=tmp_path, env=none)
    report, _ = solve("--restart", "saved", "--sweeps", "20", "--ranks", "2", cwd=tmp_path, env=none)
    plain, _ = solve("laplace", "--cells", "30x20", "--sweeps", "20", cwd=tmp_path)
    same_end(report, plain)


# Kills, at any moment


KILLS = int(os.environ.get("HALOCLINE_TEST_KILLS", "2"))


def victims(job, rng):
    """Processes of a run that are killed together: one rank, the launcher, the command, or all."""
    choice = rng.randrange(4)
    everything, ranks = list(job.processes()), list(job.ranks().values())
    launcher = [pid for pid in everything if pid not in {*ranks, job.child.pid}]
    if choice == 0 and ranks:
        return [rng.choice(ranks)]
    if choice == 1 and launcher:
        return launcher
    return [job.child.pid] if choice == 2 else everything


def in_shared_memory():
    """Names of ours; folders of tests that run beside are theirs."""
    with contextlib.suppress(FileNotFoundError):
        return {name for name in os.listdir("/dev/shm") if "halocline" in name and "halocline-files" not in name}
    return set()


def test_kills_at_any_moment_lose_no_run(tmp_path):
    before = in_shared_memory()
    whole, end = solve(*WAVE, *ALL, cwd=tmp_path)
    seconds = 0
    lost = 0
    for number in range(KILLS):
        rng = random.Random(f"{os.environ.get('HALOCLINE_TEST_SEED', '1')} {number}")
        folder = tmp_path / f"saved{number}"
        ranks = rng.choice([1, 2, 3])
        words = [*WAVE, *ALL, "--checkpoint", folder, "--checkpoint-every", "40", "--ranks", ranks, "--quiet"]
        if not seconds:
            begun = time.monotonic()
            assert run("solve", *words, cwd=tmp_path).code == 0
            seconds = time.monotonic() - begun
            for path in folder.iterdir():
                path.unlink()
        with started("solve", *words, cwd=tmp_path) as job:
            time.sleep(rng.uniform(0.2, 1.1) * seconds)
            for pid in victims(job, rng):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            job.child.wait(timeout=60)
            left = job.wait_until_gone(seconds=20)
            assert not left, f"left running: {left}"
            job.child.communicate()
        if not checkpoints(folder):
            lost += 1  # before the first one: the run begins again
            continue
        report, _ = solve("--restart", folder, "--sweeps", SWEEPS, "--ranks", rng.choice([1, 2, 3]), cwd=tmp_path)
        same_end(report, whole)
        assert left_behind(folder) == []
    print(f"{KILLS} kills: {KILLS - lost} runs went on to the same bits, {lost} had no checkpoint yet")
    assert lost < KILLS
    assert in_shared_memory() <= before
