# SPDX-License-Identifier: Apache-2.0
"""Programs on several ranks, started from here: not where this is a rank already."""

import os
import pathlib
import subprocess

import halocline as hc
import pytest
from halocline.launcher import _OF_A_RANK
from mpi4py import MPI

HERE = pathlib.Path(__file__).parent


@pytest.fixture
def as_no_rank(monkeypatch):
    """Launchers take a process with these for one of their own."""
    if MPI.COMM_WORLD.Get_size() > 1:
        pytest.skip("one rank starts others")
    launched = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "HYDI_CONTROL_FD"} & set(os.environ)
    for name in os.environ.copy() if launched else []:  # otherwise they are settings of the machine
        if name.startswith(("OMPI_", "PMI_", "PMIX_", "HYDRA", "HYDI", "MPI_LOCAL", "ORTE_", "OPAL_")):
            monkeypatch.delenv(name)


def test_a_program_runs_on_several_ranks(as_no_rank, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import sys, halocline as hc\n"
        "grid = hc.Grid((8, 8), process_grid=(2, 1))\n"
        "open(f'{sys.argv[1]}/{grid.rank}', 'w').write(repr(grid))\n"
    )
    hc.launch(2, program, tmp_path, timeout=100)
    texts = [(tmp_path / str(rank)).read_text() for rank in range(2)]
    assert texts == [f"<halocline.Grid of 8x8 cells, process grid 2x1, rank {rank} of 2>" for rank in range(2)]


def test_an_error_that_nobody_catches_ends_all_ranks(as_no_rank, capfd):
    with pytest.raises(subprocess.CalledProcessError):
        hc.launch(2, HERE / "raises.py", timeout=60)  # the exchange waits for 120 s
    assert "rank 1 ends all ranks" in capfd.readouterr().err


def test_an_exit_of_one_rank_ends_all(as_no_rank, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import sys, halocline as hc\n"
        "grid = hc.Grid((8, 8), process_grid=(2, 1))\n"
        "(u,) = grid.fields(1)\n"
        "halo = hc.Exchange(grid, u)\n"
        "if grid.rank == 1: sys.exit(3)\n"
        "halo.run(u)\n"
    )
    with pytest.raises(subprocess.CalledProcessError):
        hc.launch(2, program, timeout=60)


def test_what_cannot_be_launched_is_refused(monkeypatch):
    with pytest.raises(hc.UsageError, match="takes a number of ranks"):
        hc.launch(0, "program.py")
    monkeypatch.setenv(_OF_A_RANK[0], "3")
    with pytest.raises(hc.UsageError, match="is a rank itself .*is 3"):
        hc.launch(2, "program.py")
