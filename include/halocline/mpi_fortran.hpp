// SPDX-License-Identifier: Apache-2.0
#pragma once
// A communicator from its Fortran handle: for bindings to languages that share no mpi.h with C++.

#include <halocline/communicator.hpp>

namespace halocline {

/// Duplicates the communicator that Fortran knows by this integer (MPI_Comm_c2f), which stays the
/// caller's. Throws usage if MPI is not running or the handle is MPI_COMM_NULL's. Collective over
/// that communicator.
Communicator from_mpi_fortran(int communicator, const CommunicatorOptions& options = {});

}  // namespace halocline
