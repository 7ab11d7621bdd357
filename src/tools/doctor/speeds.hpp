// SPDX-License-Identifier: Apache-2.0
#pragma once
// How fast a node's own parts are, to be compared with those of other nodes.

#include <functional>
#include <string>

#include <halocline/communicator.hpp>

#include "doctor/facts.hpp"

namespace halocline::doctor {

/// Copies host memory by one core and counts, some 0.1 s. A node that does other things too may
/// seem slow: the best of several tries counts.
void time_node(NodeSeen& node);

/// Copies host memory by as many threads, each 64 MiB of its own to 64 MiB of its own, some 0.1 s.
/// Returns 1e9 bytes read and written a second.
double time_host_copy(int threads);

/// Starts using the GPU that gpus() lists as `ordinal` and copies within its memory and to it, some
/// 0.3 s. Throws what device::use() throws.
GpuSpeed time_gpu(int ordinal);

/// Sends between the first ranks of nodes, each with each (with some of the others, if there are
/// many), and calls `report` on the lower one of each pair. Collective over all ranks.
void time_links(const Communicator& communicator, const std::function<void(const Link&)>& report);

}  // namespace halocline::doctor
