// SPDX-License-Identifier: Apache-2.0
#include <halocline/mpi.hpp>
#include <halocline/mpi_fortran.hpp>

#include "comm/running.hpp"

namespace halocline {

// NOLINTNEXTLINE(misc-redundant-expression): another type in other MPIs
static_assert(sizeof(MPI_Fint) == sizeof(int), "bindings hold communicators as int");

Communicator from_mpi_fortran(int communicator, const CommunicatorOptions& options) {
  comm::require_mpi();
  comm::require_same_mpi();
  return from_mpi(MPI_Comm_f2c(communicator), options);
}

}  // namespace halocline
