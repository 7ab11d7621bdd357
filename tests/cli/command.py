# SPDX-License-Identifier: Apache-2.0
"""Runs the command, reads what it says, and sees to it that nothing of it is left running."""

import contextlib
import functools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time
import uuid
from typing import NamedTuple

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HALOCLINE = os.path.abspath(os.environ.get("HALOCLINE", ROOT / "build/release/bin/halocline"))

# Every process of a run inherits this variable, with a value of its own for each run.
MARK = "CLI_TEST_RUN"


# Marks a test, or a row of one, whose rule a cheaper test proves at every `make test`.
thorough = pytest.mark.skipif(os.environ.get("HALOCLINE_TEST_ALL") != "1",
                              reason="thorough: HALOCLINE_TEST_ALL=1 runs it, as make test-all does")


class Ended(NamedTuple):
    code: int
    out: str
    err: str


def variables_of(pid):
    """The environment that a process was started with; nothing if it is gone or not ours."""
    try:
        text = pathlib.Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace")
    except OSError:
        return {}
    return dict(entry.split("=", 1) for entry in text.split("\0") if "=" in entry)


class Job:
    """A command that was started, with every process that comes of it."""

    def __init__(self, words, env=None, cwd=None, stdout=subprocess.PIPE, stderr=subprocess.PIPE):
        self.words = [str(word) for word in words]
        self.mark = uuid.uuid4().hex
        variables = {**os.environ, "OMP_NUM_THREADS": "1", **(env or {}), MARK: self.mark}
        self.child = subprocess.Popen(
            self.words, env=variables, cwd=cwd, stdin=subprocess.DEVNULL, stdout=stdout,
            stderr=stderr, text=True, start_new_session=True)

    def processes(self):
        """Process id: environment, for all that run."""
        there = {int(name): variables_of(name) for name in os.listdir("/proc") if name.isdigit()}
        return {pid: env for pid, env in there.items() if env.get(MARK) == self.mark}

    def ranks(self):
        """Rank: process id."""
        found = {}
        for pid, env in self.processes().items():
            rank = env.get("OMPI_COMM_WORLD_RANK", env.get("PMI_RANK"))
            with contextlib.suppress(OSError):
                if rank is not None and os.path.samefile(f"/proc/{pid}/exe", HALOCLINE):
                    found[int(rank)] = pid
        return found

    def finish(self, timeout=240):
        """Waits for the end; it is a failure if it does not come or leaves processes behind."""
        try:
            out, err = self.child.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            out, err = self.child.communicate()
            pytest.fail(f"did not end within {timeout} s: {self.words}\n{out}{err}")
        left = self.wait_until_gone(seconds=3)
        assert not left, f"left running: {left}"
        return Ended(self.child.returncode, out, err)

    def wait_until_gone(self, seconds):
        """Returns what still runs after that time."""
        end = time.monotonic() + seconds
        while (left := self.processes()) and time.monotonic() < end:
            time.sleep(0.05)
        return left

    def kill(self):
        for pid in self.processes():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)


@contextlib.contextmanager
def started(*words, program=(HALOCLINE,), **options):
    """Starts the command; what is left of it at the end of the block is killed."""
    job = Job([*program, *words], **options)
    try:
        yield job
    finally:
        job.kill()
        job.child.wait()


def run(*words, timeout=240, **options):
    """Runs the command to its end."""
    with started(*words, **options) as job:
        return job.finish(timeout)


def solve_json(*words, code=0, **options):
    """Runs `halocline solve` and returns its JSON report."""
    end = run("solve", *words, "--json", "-", **options)
    assert end.code == code, f"{words}: exit code {end.code}\n{end.out}{end.err}"
    return json.loads(end.out)


def solve(*words, code=0, **options):
    """Runs `halocline solve` and returns what it printed."""
    end = run("solve", *words, **options)
    assert end.code == code, f"{words}: exit code {end.code}\n{end.out}{end.err}"
    return end.out


def bench_json(check, *words, **options):
    """Runs a benchmark and returns its JSON report, which has been checked."""
    end = run("bench", *words, "--json", "-", **options)
    assert end.code == 0, f"{words}: exit code {end.code}\n{end.out}{end.err}"
    report = json.loads(end.out)
    check(report)
    return report


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.02)


@functools.cache
def gpu_name():
    """Of the GPU that the command finds; empty without one."""
    report = solve_json("laplace", "--cells", "16x16", "--sweeps", "1")
    return report["devices"][0]["name"] if report["backend"] == "cuda" else ""


def skip_without_emulation():
    """For tests that choose what driver, GPUs and MPI are like."""
    if gpu_name() != "CUDA on CPU":
        skip("this is no build with -DHALOCLINE_CUDA=CPU", needs="cuda-on-cpu")


def skip(reason, needs):
    """Skips a test, or at its top a module, that cannot run here, unless HALOCLINE_REQUIRE names what it needs."""
    if needs in os.environ.get("HALOCLINE_REQUIRE", "").split(","):
        pytest.fail(f"{needs} is required, but {reason}")
    pytest.skip(f"{needs}: {reason}", allow_module_level=True)


# For what stands between the command and its MPI: see the fixture `preload`. Handles are numbers or
# pointers, depending on the MPI; a long holds both.
MPI_SEND = "int MPI_Send(const void *from, int count, long type, int to, int tag, long comm)"
FINALIZE_HANGS = "#include <unistd.h>\nint MPI_Finalize(void) { for (;;) pause(); }"


def mpi_that_corrupts(bytes):
    """The source of one that changes byte 100 of messages of this size."""
    return f"""
#include <stdlib.h>
#include <string.h>
int PMPI_Send(const void *, int, long, int, int, long);
{MPI_SEND} {{
  if (count != {bytes}) return PMPI_Send(from, count, type, to, tag, comm);
  char *copy = malloc(count);
  memcpy(copy, from, count);
  copy[100] ^= 1;
  const int code = PMPI_Send(copy, count, type, to, tag, comm);
  free(copy);
  return code;
}}"""


# An MPI whose subarrays begin elsewhere.
WRONG_SUBARRAYS = """
int PMPI_Type_create_subarray(int, const int *, const int *, const int *, int, long, void *);
int MPI_Type_create_subarray(int axes, const int *sizes, const int *box, const int *starts,
                             int order, long type, void *made) {
  int others[4];
  for (int i = 0; i < axes; ++i) others[i] = 0 * starts[i];
  return PMPI_Type_create_subarray(axes, sizes, box, others, order, type, made);
}"""


def put_script(path, text):
    """Writes a shell script that can be started; returns its path."""
    path.write_text(f"#!/bin/sh\n{text}")
    path.chmod(0o755)
    return path


def build_library(path, source):
    """Compiles a library that stands for another."""
    compiler = shutil.which("cc") or skip("there is no C compiler", needs="cc")
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([compiler, "-shared", "-fPIC", "-x", "c", "-o", path, "-"], input=source,
                   text=True, check=True)
