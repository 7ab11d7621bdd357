// SPDX-License-Identifier: Apache-2.0
#pragma once
// Communicators from Fortran handles: for bindings to languages that share no mpi.h with C++.

#include <halocline/communicator.hpp>

namespace halocline {

/// Returns a duplicate of the communicator with this Fortran handle (MPI_Comm_c2f), which the
/// calls with the same options share until a wait in it exceeds its limit. It lives as long as the
/// original, which the caller still owns and frees: until then copies end at any time, in any
/// order; of one that outlives the original the last copy ends collectively. Collective over the
/// original. Throws usage if MPI is not running or the handle is that of MPI_COMM_NULL.
Communicator from_mpi_fortran(int communicator, const CommunicatorOptions& options = {});

}  // namespace halocline
