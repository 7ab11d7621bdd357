// SPDX-License-Identifier: Apache-2.0
#include <halocline/error.hpp>
#include <halocline/mpi.hpp>
#include <halocline/mpi_fortran.hpp>

namespace halocline {

// NOLINTNEXTLINE(misc-redundant-expression): another type in other MPIs
static_assert(sizeof(MPI_Fint) == sizeof(int), "bindings hold communicators as int");

Communicator from_mpi_fortran(int communicator, const CommunicatorOptions& options) {
  int is_running = 0, is_over = 0;
  MPI_Initialized(&is_running);
  MPI_Finalized(&is_over);
  if (is_running == 0 || is_over != 0)
    throw Error(ErrorKind::usage, is_over != 0
                                      ? "MPI is finalised; call Halocline before MPI_Finalize"
                                      : "MPI is not initialised; call MPI_Init first");
  const MPI_Comm comm = MPI_Comm_f2c(communicator);
  if (comm == MPI_COMM_NULL)
    throw Error(ErrorKind::usage,
                "the communicator is null; pass MPI_Comm_c2f of a communicator, or "
                "Fortran's MPI_COMM_WORLD");
  return from_mpi(comm, options);
}

}  // namespace halocline
