// SPDX-License-Identifier: Apache-2.0
#include <halocline/error.hpp>
#include <halocline/mpi.hpp>
#include <halocline/mpi_fortran.hpp>

#include "comm/running.hpp"

namespace halocline {

// NOLINTNEXTLINE(misc-redundant-expression): another type in other MPIs
static_assert(sizeof(MPI_Fint) == sizeof(int), "bindings hold communicators as int");

Communicator from_mpi_fortran(int communicator, const CommunicatorOptions& options) {
  comm::require_mpi();
  comm::require_same_mpi();
  const MPI_Comm comm = MPI_Comm_f2c(communicator);
  if (comm == MPI_COMM_NULL)
    throw Error(ErrorKind::usage,
                "the communicator is null; pass MPI_Comm_c2f of a communicator, or "
                "Fortran's MPI_COMM_WORLD");
  return from_mpi(comm, options);
}

}  // namespace halocline
