# SPDX-License-Identifier: Apache-2.0
"""Results are never lost: what is refused before a run, what is kept when a file cannot be put in place,
and what is left behind when a signal ends a run."""

import json
import os
import pathlib
import re
import shutil
import signal
import tempfile
import threading
import time

import numpy as np
import pytest

from command import HALOCLINE, run, skip, solve_json, started, wait_for

SMALL = ["laplace", "--cells", "60x50", "--sweeps", "20", "--tolerance", "0"]
# Some seconds of one core, in which a test may change the folder.
LONG = ["laplace", "--cells", "400x400", "--tolerance", "0", "--backend", "cpu", "--threads", "1"]


def refused(end, *texts, code=2):
    assert end.code == code, end
    assert end.err.startswith("halocline: ") and end.err.count("\n") == 1, end.err
    for text in texts:
        assert text in end.err, end.err
    assert end.out == ""


def temporary_files(folder):
    return [name for name in os.listdir(folder) if name.startswith(".halocline-")]


def as_ordinary_user(*words, **options):
    """Runs the command without the rights of root."""
    if os.geteuid() != 0:
        return run(*words, **options)
    with tempfile.TemporaryDirectory() as folder:  # where every user may reach the command
        os.chmod(folder, 0o755)
        command = shutil.copy(HALOCLINE, folder)
        program = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", command]
        probe = run("--version", program=program)
        if probe.code != 0:
            skip(f"another user cannot run the command: {probe.err}", needs="users")
        return run(*words, program=program, cwd="/", **options)


@pytest.fixture
def open_folder():
    """A folder that every user may reach."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield pathlib.Path(folder)


def test_a_start_that_may_not_be_read_is_told_so(open_folder):
    np.save(open_folder / "u.npy", np.zeros((50, 60)))
    (open_folder / "u.npy").chmod(0)
    end = as_ordinary_user("solve", "laplace", "--initial", open_folder / "u.npy")
    refused(end, "u.npy", "Permission denied")


# Limits


# Open MPI keeps a file of some MiB unless it is told not to.
NO_FILES_OF_MPI = {"PMIX_MCA_gds": "hash", "UCX_TLS": "self,tcp"}


def limited(kibibytes):
    return ["bash", "-c", f'ulimit -f {kibibytes}; exec "$@"', "bash", HALOCLINE]


def test_a_limit_on_files_is_told_before_the_run(tmp_path):
    end = run("solve", *LONG, "--sweeps", "10000000", "--output", "u.npy", cwd=tmp_path,
              program=limited(1000), env=NO_FILES_OF_MPI)
    refused(end, "u.npy", "ulimit -f", code=4)
    assert os.listdir(tmp_path) == []


def test_a_limit_on_files_takes_no_other_result(tmp_path):
    end = run("solve", "laplace", "--cells", "40x30", "--sweeps", "2000", "--tolerance", "0", "--trace",
              "t.json", "--json", "r.json", cwd=tmp_path, program=limited(200),
              env=NO_FILES_OF_MPI)
    assert end.code == 4 and "checksum" in end.out, end
    assert "t.json" in end.err and "ulimit -f" in end.err
    json.loads((tmp_path / "r.json").read_text())
    assert os.listdir(tmp_path) == ["r.json"]


@pytest.fixture
def memory_group():
    """A control group with 1 GiB, and the command in one below it that has no limit."""
    lines = pathlib.Path("/proc/self/cgroup").read_text().splitlines()
    unified = [line[3:] for line in lines if line.startswith("0::")]
    memory = [line.split(":", 2)[2] for line in lines if ":memory:" in line]
    if memory:
        folder, limit = pathlib.Path("/sys/fs/cgroup/memory" + memory[0]), "memory.limit_in_bytes"
    else:
        folder, limit = pathlib.Path("/sys/fs/cgroup" + unified[0]), "memory.max"
    group = folder / f"halocline-test-{os.getpid()}"
    try:
        (group / "job").mkdir(parents=True)
        (group / limit).write_text(str(1 << 30))
    except OSError as error:
        for path in (group / "job", group):
            if path.is_dir():
                path.rmdir()
        skip(f"no control group can be made: {error}", needs="cgroups")
    yield ["bash", "-c", f'echo $$ >{group}/job/cgroup.procs && exec "$@"', "bash", HALOCLINE]
    for path in (group / "job", group):
        wait_for(lambda path=path: not (path / "cgroup.procs").read_text())
        path.rmdir()


@pytest.mark.parametrize("option", ["--verify", "--baseline"])
def test_memory_for_one_rank_alone_counts(option, memory_group, tmp_path):
    words = ["solve", "laplace", "--cells", "6500x6500", "--sweeps", "1"]
    end = run(*words, option, "--output", "u.npy", cwd=tmp_path, program=memory_group)
    refused(end, "6500x6500", option, "leave it out", "MiB", code=4)
    end = run("solve", "laplace", "--cells", "9000x9000", "--sweeps", "1", cwd=tmp_path,
              program=memory_group)
    refused(end, "9000x9000", "use fewer cells", code=4)


def test_benchmarks_leave_out_what_has_no_room(memory_group):
    end = run("bench", "p2p", "--sizes", "512Mi", "--ranks", "2", program=memory_group)
    assert "free of" in end.out + end.err, end
    assert "Killed" not in end.err


# Pipes


def test_a_pipe_gets_the_whole_report(tmp_path):
    os.mkfifo(tmp_path / "p.json")
    texts = []
    reader = threading.Thread(target=lambda: texts.append((tmp_path / "p.json").read_text()),
                              daemon=True)
    reader.start()
    end = run("solve", *SMALL, "--json", "p.json", cwd=tmp_path, timeout=60)
    reader.join(timeout=30)
    assert end.code == 0, end
    assert json.loads(texts[0])["sweeps"] == 20


def test_a_pipe_that_nobody_reads_ends_with_an_error(tmp_path):
    os.mkfifo(tmp_path / "p.json")
    end = run("solve", *SMALL, "--trace", "p.json", cwd=tmp_path, timeout=60)
    assert end.code == 4 and "checksum" in end.out
    assert "p.json" in end.err and "nobody" in end.err and "reader" in end.err


def test_standard_output_has_a_name(tmp_path):
    with open(tmp_path / "out.json", "w", encoding="utf-8") as out:
        end = run("solve", *SMALL, "--quiet", "--json", "/dev/stdout", cwd=tmp_path, stdout=out)
    assert json.loads((tmp_path / "out.json").read_text())["sweeps"] == 20


# Signals, and ranks that stop


def test_smoke_a_signal_leaves_no_part_of_an_array(tmp_path, preload):
    """Others: unit/test_signals.cpp."""
    number = signal.SIGHUP
    env = preload("#include <unistd.h>\nint fsync(int file) { for (;;) pause(); }")
    folder = tmp_path / "out"
    folder.mkdir()
    with started("solve", *SMALL, "--output", "u.npy", cwd=folder, env=env) as job:
        wait_for(lambda: temporary_files(folder))
        start = time.monotonic()
        job.child.send_signal(number)
        end = job.finish(timeout=30)
    assert time.monotonic() - start < 10
    assert end.code == -number
    assert end.err.count("\n") == 1 and f"signal {number} " in end.err
    assert os.listdir(folder) == []


def test_a_signal_to_all_ranks_leaves_no_part_of_an_array(tmp_path, preload):
    env = preload("#include <unistd.h>\nint fsync(int file) { for (;;) pause(); }")
    folder = tmp_path / "out"
    folder.mkdir()
    with started("solve", *SMALL, "--ranks", "2", "--output", "u.npy", cwd=folder, env=env) as job:
        wait_for(lambda: temporary_files(folder))
        job.child.send_signal(signal.SIGTERM)
        end = job.finish(timeout=60)
    assert end.code not in (0, 1) and f"signal {int(signal.SIGTERM)} " in end.err
    assert os.listdir(folder) == []


SLOW_DISK = "#include <unistd.h>\nint fsync(int file) { sleep(%d); return 0; }"


def test_a_slow_disk_is_waited_for(tmp_path, preload):
    report = solve_json(*SMALL, "--ranks", "2", "--wait-limit", "1", "--output", "u.npy",
                        cwd=tmp_path, env=preload(SLOW_DISK % 3))
    assert report["sweeps"] == 20
    assert np.load(tmp_path / "u.npy").shape == (50, 60)


def test_a_rank_that_stops_while_it_writes_is_named(tmp_path, preload):
    stopped = 2
    folder = tmp_path / "out"
    folder.mkdir()
    with started("solve", *SMALL, "--ranks", "3", "--wait-limit", "2", "--output", "u.npy", cwd=folder,
                 env=preload(SLOW_DISK % 10)) as job:
        wait_for(lambda: temporary_files(folder))
        time.sleep(1)  # until all ranks wait for their disks
        os.kill(job.ranks()[stopped], signal.SIGSTOP)
        start = time.monotonic()
        end = job.finish(timeout=120)
    assert time.monotonic() - start < 60
    assert end.code == 4
    assert re.search(rf"^halocline: .*rank 0 has waited 2 s in file, disks for rank {stopped};", end.err,
                     re.MULTILINE), end.err
    assert os.listdir(folder) == []
