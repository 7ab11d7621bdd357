# SPDX-License-Identifier: Apache-2.0
# Finds MPI (its C interface only) and how programs of this MPI are started:
#   halocline_mpi_launcher   full path of mpiexec or srun, empty if there is none
#   halocline_mpi_is_open    whether it is Open MPI, whose launcher wants arguments of its own
#   halocline_mpi_family     openmpi, mpich or mpiabi: libraries of one family work with all of it

# Debian's mpicc.mpich has mpifort.mpich and mpiexec.mpich beside it. By itself CMake would take the first in PATH,
# which are another MPI's.
if(MPI_C_COMPILER MATCHES "mpicc([.][^/]*)$")
  set(suffix "${CMAKE_MATCH_1}")
  if(NOT MPI_Fortran_COMPILER)
    set(MPI_Fortran_COMPILER "mpifort${suffix}")
  endif()
  if(NOT MPIEXEC_EXECUTABLE)
    set(MPIEXEC_EXECUTABLE "mpiexec${suffix}")
  endif()
endif()
find_package(MPI REQUIRED COMPONENTS C)

set(halocline_mpi_launcher "")
if(MPIEXEC_EXECUTABLE)
  # A bare name such as mpiexec.mpich is allowed too.
  find_program(launcher_path NAMES "${MPIEXEC_EXECUTABLE}" NO_CACHE)
  if(launcher_path)
    set(halocline_mpi_launcher "${launcher_path}")
  endif()
endif()

include(CheckSymbolExists)
set(CMAKE_REQUIRED_LIBRARIES MPI::MPI_C)
check_symbol_exists(OPEN_MPI mpi.h halocline_mpi_is_open)
check_symbol_exists(MPI_ABI_VERSION mpi.h halocline_mpi_is_abi)
set(halocline_mpi_family mpich)
if(halocline_mpi_is_abi)
  set(halocline_mpi_family mpiabi)
elseif(halocline_mpi_is_open)
  set(halocline_mpi_family openmpi)
endif()
unset(CMAKE_REQUIRED_LIBRARIES)

# The launcher of another MPI starts n programs of one rank each, which no error message explains.
if(halocline_mpi_launcher MATCHES "mpi(exec|run)[^/]*$")
  execute_process(COMMAND "${halocline_mpi_launcher}" --version
    OUTPUT_VARIABLE launcher_version ERROR_VARIABLE launcher_version)
  string(REGEX MATCH "Open ?MPI|OpenRTE|PRRTE" launcher_is_open "${launcher_version}")
  if((halocline_mpi_is_open AND NOT launcher_is_open)
     OR (launcher_is_open AND NOT halocline_mpi_is_open))
    message(WARNING "${halocline_mpi_launcher} does not belong to the MPI of ${MPI_C_COMPILER}; "
      "give the right one with -DMPIEXEC_EXECUTABLE=...")
  endif()
endif()
