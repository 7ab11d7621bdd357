// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whether MPI's shared memory has room for a window. MPI itself finds out too late: Open MPI fails
// on one rank while the others wait for it, and MPICH ends a rank with SIGBUS at the first page
// that does not exist.

#include <cstdint>

#include "comm/state.hpp"

namespace halocline::transport {

/// Throws resource, on every rank of the node, unless the folder in which MPI keeps windows has
/// room for the `bytes` of each rank. Collective over the node. Costs one small all-gather, and a
/// question to MPI before it throws. It does not see a folder that a file of Open MPI's settings
/// names, and that is smaller than /dev/shm.
void require_room_for_window(comm::State& state, std::int64_t bytes);

}  // namespace halocline::transport
