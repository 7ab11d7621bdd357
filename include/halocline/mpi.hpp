// SPDX-License-Identifier: Apache-2.0
#pragma once
// For programs that already have an MPI communicator. The only public header that needs mpi.h.

#include <mpi.h>

#include <halocline/communicator.hpp>

namespace halocline {

/// Duplicates `comm`; the caller still owns and frees `comm`. Collective over `comm`. Throws usage
/// if MPI is not running or `comm` is MPI_COMM_NULL, unavailable if a launcher started several
/// ranks and MPI, of another make, finds one.
Communicator from_mpi(MPI_Comm comm, const CommunicatorOptions& options = {});

}  // namespace halocline
