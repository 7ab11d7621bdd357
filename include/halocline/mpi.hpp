// SPDX-License-Identifier: Apache-2.0
#pragma once
// The one public header that needs mpi.h: for programs that already have a communicator.

#include <mpi.h>

#include <halocline/communicator.hpp>

namespace halocline {

/// Duplicates `comm`, which stays the caller's. Collective over `comm`.
Communicator from_mpi(MPI_Comm comm, const CommunicatorOptions& options = {});

}  // namespace halocline
