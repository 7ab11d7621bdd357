// SPDX-License-Identifier: Apache-2.0
#pragma once
// The start of MPI.

#include <optional>
#include <string>

namespace halocline::comm {

/// MPI_Init_thread; returns the level of thread support that MPI provides. Waits, a second at most,
/// until the threads sleep that Open MPI has started: one has an event from MPI_Init to handle, and
/// MPI_Finalize of Open MPI 4 unloads the plug-in that does so without checking that it has. On
/// crowded cores short runs then ended with a segmentation fault, after their result. Open MPI's
/// issue 10117 (github.com/open-mpi/ompi) describes a similar crash.
int start_mpi(int thread_level);

/// Returns an error text if a launcher started several ranks, but MPI, which must be running, finds
/// one: the launcher belongs to another MPI, and each rank would work alone. A sentence without a
/// full stop, with what to do; nothing if all is well.
std::optional<std::string> why_alone();

}  // namespace halocline::comm
