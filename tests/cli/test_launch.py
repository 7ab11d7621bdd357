# SPDX-License-Identifier: Apache-2.0
"""Ranks started by the command, or by somebody else's launcher."""

import os
import re
import shutil

import pytest

from command import HALOCLINE, put_script, run, skip, solve_json, started, thorough

SMALL = ["solve", "laplace", "--cells", "40x30", "--sweeps", "5"]


@pytest.fixture(scope="module")
def small_checksum():
    return solve_json(*SMALL[1:])["checksum"]


@pytest.mark.parametrize("words", [["--ranks", "2"], ["--ranks=5"]])
def test_starts_ranks(words, small_checksum):
    report = solve_json(*SMALL[1:], *words)
    assert report["ranks"] == int(re.sub(r"\D", "", "".join(words)))
    assert report["nodes"] == 1
    assert report["checksum"] == small_checksum


def test_smoke_under_a_launcher(mpirun, small_checksum):
    for words in ([], ["--ranks", "2"]):
        end = run(*SMALL, *words, **mpirun(ranks=2))
        assert end.code == 0
        assert f"checksum      {small_checksum}\n" in end.out
        assert end.out.count("checksum") == 1
        assert "2 on 1 node, process grid" in end.out


def test_one_rank_under_a_launcher(mpirun, small_checksum):
    end = run(*SMALL, **mpirun(ranks=1))
    assert end.code == 0 and f"checksum      {small_checksum}\n" in end.out


@pytest.mark.parametrize("words, code", [
    ("solve nothing", 2), ("solve heat --backend gpu", 2),
    ("solve laplace --cells 8x8 --transport self", 3), ("solve laplace --cells 1e9x1e9", 4),
    ("solve star7 --cells 8x8x8 --set centre=1e200 --norm max", 1)])
def test_exit_codes_under_a_launcher(words, code, mpirun):
    end = run(*words.split(), **mpirun(ranks=2))
    assert end.code == code, end


def test_errors_of_all_ranks_are_told_once(mpirun):
    end = run("solve", "laplace", "--cells", "8x8", "--transport", "pigeon", **mpirun(ranks=3))
    assert end.err.count("pigeon") == 1


def launch(launcher, *words):
    return run(*SMALL, "--ranks", "2", *words, env={"HALOCLINE_LAUNCHER": str(launcher)})


def test_another_launcher(mpirun, small_checksum, tmp_path):
    """A launcher with words of its own, as sites have them."""
    script = put_script(tmp_path / "site-launcher", f'echo "$1" >"{tmp_path}/first"\n[ "$1" = --site ] && shift\n'
                        f'exec "{mpirun.path}" "$@"\n')
    end = launch(f"{script} --site")
    assert end.code == 0 and small_checksum in end.out
    assert (tmp_path / "first").read_text() == "--site\n"


def test_openmp_does_not_bind_all_ranks_to_one_core():
    end = run(*SMALL, "--ranks", "2", env={"OMP_PROC_BIND": "close", "OMP_PLACES": "cores"})
    assert end.code == 0 and "the ranks do not get OMP_PLACES, OMP_PROC_BIND" in end.err, end
    if len(os.sched_getaffinity(0)) > 1:
        assert "share 1 core" not in end.out


@thorough
def test_a_launcher_that_hangs_is_named(tmp_path):
    script = put_script(tmp_path / "hangs", '[ "$1" = --version ] || sleep 25\n')
    end = launch(script)
    assert end.code == 4 and f"note: {script} has not brought 2 ranks to work yet" in end.err, end
    assert "(ulimit -n)" in end.err


@pytest.mark.parametrize("words", [
    ["solve", "laplace", "--cells", "40x30", "--sweeps", "5", "--verify"],
    ["bench", "halo", "--cells-per-rank", "8x8", "--transport", "mpi"]])
@pytest.mark.parametrize("launcher", ["true", "echo", "fake"])
def test_smoke_a_launcher_that_starts_nothing(launcher, words, tmp_path):
    """No result is no success, whatever the launcher says."""
    if launcher == "fake":
        launcher = put_script(tmp_path / "fake", "echo 'all is well'\n")
    end = run(*words, "--ranks", "2", "--json", tmp_path / "z.json",
              env={"HALOCLINE_LAUNCHER": str(launcher)})
    assert end.code == 4, end
    assert re.search(f"^halocline: .*{launcher}.* on 2 ranks", end.err, re.MULTILINE)
    assert not (tmp_path / "z.json").exists()


def test_a_launcher_that_starts_fewer_ranks(mpirun, tmp_path):
    script = put_script(tmp_path / "one-only",
                        f'[ "$1" = -n ] && shift 2 && set -- -n 1 "$@"\nexec "{mpirun.path}" "$@"\n')
    end = launch(script)
    assert end.code == 3 and end.out == "", end
    assert re.search("^halocline: .*1 rank instead of 2", end.err, re.MULTILINE)


# Hydra's 6 to 15 are signals.
@pytest.mark.parametrize("code", [pytest.param(1, marks=thorough), 3, pytest.param(42, marks=thorough)])
def test_the_ranks_tell_the_exit_code(code, mpirun, small_checksum, tmp_path):
    """A launcher's own code, here after a run that went well, is not taken for theirs."""
    script = put_script(tmp_path / "odd", f'"{mpirun.path}" "$@"\nexit {code}\n')
    end = launch(script)
    assert end.code == 0 and small_checksum in end.out, end
    assert f"note: {script} ended with exit code {code} " in end.err


def test_a_launcher_that_marks_every_line(mpirun, small_checksum):
    option = "--tag-output" if mpirun.is_open_mpi else "-prepend-rank"
    end = launch(f"{mpirun.path} {option}")
    assert end.code == 0 and small_checksum in end.out
    assert end.err == ""


@pytest.mark.parametrize("ranks", [1, 2])
def test_smoke_an_mpi_that_ends_the_process(ranks, preload):
    """1 means a wrong result and nothing else, also for one rank without a launcher."""
    for how in ("exit(1)", "_exit(1)"):
        end = run(*SMALL, "--ranks", ranks, env=preload(f"""
#include <stdlib.h>
#include <unistd.h>
int MPI_Init_thread(int *a, char ***b, int c, int *d) {{ {how}; return 0; }}
int MPI_Init(int *a, char ***b) {{ {how}; return 0; }}"""))
        assert end.code == 4 and "checksum" not in end.out, end
        assert re.search("^halocline: MPI_Init ended this process", end.err, re.MULTILINE)


# Stands for cores so crowded that a thread of MPI handles what it is told only later.
LATE_THREADS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}
int poll(struct pollfd *files, nfds_t count, int limit) {
  int (*of_system)(struct pollfd *, nfds_t, int) = dlsym(RTLD_NEXT, "poll");
  const int ready = of_system(files, count, limit);
  const double start = now();
  if (gettid() != getpid() && strcmp(program_invocation_short_name, "halocline") == 0)
    while (now() < start + 0.3) continue;
  return ready;
}"""


def test_threads_of_mpi_that_come_late(mpirun, preload, small_checksum):
    if not mpirun.is_open_mpi:
        skip("threads of Open MPI are meant", needs="openmpi")
    late = preload(LATE_THREADS)
    assert solve_json(*SMALL[1:], env=late)["checksum"] == small_checksum
    assert solve_json(*SMALL[1:], "--ranks", "2", env=late)["checksum"] == small_checksum


def test_mpi_says_why_it_does_not_start(mpirun):
    if not mpirun.is_open_mpi:
        skip("Open MPI's words are known here", needs="openmpi")
    end = run(*SMALL, "--ranks", "2", env={"OMPI_MCA_pml": "no-such-pml"})
    assert end.code == 4 and end.out == "", end
    # Open MPI 4.1 loses some of its own messages now and then (ORTE_ERROR_LOG in show_help.c).
    words = ("no-such-pml", "mca_pml_base_open() failed", "ORTE_ERROR_LOG")
    assert any(word in end.err for word in words), end
    assert "halocline: MPI_Init ended this process" in end.err


def test_too_few_slots_are_told_whole(mpirun):
    if not mpirun.is_open_mpi:
        skip("Open MPI counts slots", needs="openmpi")
    end = launch(f"{mpirun.path} --host localhost:1")
    assert end.code == 4 and end.out == "", end
    assert re.search("^halocline: .* ended with exit code", end.err, re.MULTILINE)
    assert "slots" in end.err and "--oversubscribe" in end.err


def test_usage_errors_do_not_start_mpi(preload):
    """As one rank, too: this MPI cannot be started."""
    env = preload("#include <stdlib.h>\n"
                  "int MPI_Init_thread(int *a, char ***b, int c, int *d) { abort(); }\n"
                  "int MPI_Init(int *a, char ***b) { abort(); }")
    for words in (["--backend", "gpu"], ["--process-grid", "2x1"], ["--halo-depth", "0"]):
        assert run(*SMALL, *words, env=env).code == 2, words


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_closed_standard_output_is_no_place_for_a_report(ranks):
    script = f'exec "$0" solve heat --sweeps 2 --ranks {ranks} 0<&- >&-'
    with started("-c", script, HALOCLINE, program=["/bin/sh"]) as job:
        end = job.finish()
    assert end.code == 4 and "standard output" in end.err, end


@pytest.mark.parametrize("code", [1, pytest.param(2, marks=thorough), 7, pytest.param(255, marks=thorough)])
def test_a_launcher_that_fails(code, tmp_path):
    """No result is wrong if there is none: a launcher's exit code is not taken for ours."""
    script = put_script(tmp_path / "broken", f"echo 'no ranks today' >&2\nexit {code}\n")
    end = launch(script)
    assert end.code in (3, 4), end
    assert re.search("^halocline: .*broken", end.err, re.MULTILINE)


def test_under_the_launcher_of_another_mpi(mpi):
    """Its ranks cannot find each other: that is said rather than that each solves all."""
    other = shutil.which("mpiexec.mpich" if "Open MPI" in mpi else "mpirun.openmpi")
    if other is None:
        skip("there is only one MPI", needs="mpich")
    env = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    end = run(*SMALL, program=[other, "-n", "2", HALOCLINE], env=env)
    assert end.code == 3, end
    assert "halocline: " in end.err and "alone" in end.err
