# SPDX-License-Identifier: Apache-2.0
"""Ranks started by the command, or by somebody else's launcher."""

import re
import shutil

import pytest

from command import HALOCLINE, run, skip, solve_json

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
    script = tmp_path / "site-launcher"
    script.write_text(f'#!/bin/sh\necho "$1" >"{tmp_path}/first"\n[ "$1" = --site ] && shift\n'
                      f'exec "{mpirun.path}" "$@"\n')
    script.chmod(0o755)
    end = launch(f"{script} --site")
    assert end.code == 0 and small_checksum in end.out
    assert (tmp_path / "first").read_text() == "--site\n"


def test_a_launcher_that_does_not_exist():
    end = launch("no-such-launcher")
    assert end.code == 3 and end.out == ""
    assert re.fullmatch("halocline: HALOCLINE_LAUNCHER is 'no-such-launcher'.*\n", end.err)


@pytest.mark.parametrize("code", [1, 2, 7, 255])
def test_a_launcher_that_fails(code, tmp_path):
    """No result is wrong if there is none: a launcher's exit code is not taken for ours."""
    script = tmp_path / "broken"
    script.write_text(f"#!/bin/sh\necho 'no ranks today' >&2\nexit {code}\n")
    script.chmod(0o755)
    end = launch(script)
    assert end.code in (3, 4), end
    assert re.search("^halocline: .*broken", end.err, re.MULTILINE)


def test_a_launcher_of_another_mpi(mpi):
    """Started by it, every rank would believe to be alone."""
    other = shutil.which("mpiexec.mpich" if "Open MPI" in mpi else "mpirun.openmpi")
    if other is None:
        skip("there is only one MPI", needs="mpich")
    end = launch(other)
    assert end.code == 3 and end.out == ""
    assert re.fullmatch("halocline: .*every rank would run alone.*\n", end.err)


def test_under_the_launcher_of_another_mpi(mpi):
    """Its ranks cannot find each other: that is said rather than that each solves all."""
    other = shutil.which("mpiexec.mpich" if "Open MPI" in mpi else "mpirun.openmpi")
    if other is None:
        skip("there is only one MPI", needs="mpich")
    env = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    end = run(*SMALL, program=[other, "-n", "2", HALOCLINE], env=env)
    assert end.code == 3, end
    assert "halocline: " in end.err and "alone" in end.err
