# SPDX-License-Identifier: Apache-2.0
"""Facts about the command under test, found out once."""

import os
import shutil
import signal

import pytest

from command import HALOCLINE, build_library, gpu_name, run, skip, skip_without_emulation, solve_json


def pytest_sessionstart(session):
    if not os.access(HALOCLINE, os.X_OK):
        pytest.exit(f"there is no command {HALOCLINE}; HALOCLINE=PATH names it", returncode=2)
    # Ignored signals are inherited, and nohup ignores one, as shells do for what runs behind them: then
    # the command would not end by them, which tests look at.
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    """Proofs of these tests' own: none of the user's are read or written. They are made here, so
    that no test sees the notes of the first run between GPUs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.delenv("HALOCLINE_SITE_PROOFS", raising=False)
        run("solve", "heat", "--ranks", "3", "--quiet")
        yield


@pytest.fixture(scope="session")
def gpu():
    """The name of the GPU that the command finds; empty without one."""
    return gpu_name()


@pytest.fixture(scope="session")
def emulation():
    """For tests that choose what driver, GPUs and MPI are like."""
    skip_without_emulation()


@pytest.fixture(scope="session")
def mpi():
    """Name and version of the command's MPI."""
    return solve_json("heat")["mpi"]


@pytest.fixture(scope="session")
def mpirun(mpi):
    """Starts the command under the launcher of its MPI: run("solve", ..., **mpirun(ranks=3))."""
    is_open_mpi = "Open MPI" in mpi
    names = ["mpirun.openmpi", "mpirun"] if is_open_mpi else ["mpiexec.mpich", "mpiexec.hydra",
                                                              "mpiexec"]
    if "MPIEXEC" in os.environ:
        names = [os.environ["MPIEXEC"]]
    launcher = next(filter(None, map(shutil.which, names)), None)
    if launcher is None:
        skip(f"there is no launcher for {mpi} among {', '.join(names)}", needs="launcher")
    words = [launcher, "--oversubscribe", "--bind-to", "none"] if is_open_mpi else [launcher]
    env = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

    def options(ranks):
        return {"program": [*words, "-n", str(ranks), HALOCLINE], "env": env}

    options.path, options.is_open_mpi = launcher, is_open_mpi
    return options


@pytest.fixture
def preload(tmp_path):
    """Builds what stands between the program and its MPI; returns the variable that puts it there."""

    def build(source):
        build_library(tmp_path / "shim.so", source)
        return {"LD_PRELOAD": str(tmp_path / "shim.so")}

    return build
