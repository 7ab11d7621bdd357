// SPDX-License-Identifier: Apache-2.0
#pragma once
// Speeds of the parts of a node, for comparison with other nodes.

#include <functional>
#include <string>

#include <halocline/communicator.hpp>

#include "doctor/facts.hpp"

namespace halocline::doctor {

/// Times copies of host memory and additions on one core, about 0.1 s. Takes the best of several
/// tries, as other work may disturb them.
void time_node(NodeSeen& node);

/// Copies host memory with `threads` threads, 64 MiB each, about 0.1 s. Returns GB/s, read plus
/// written.
double time_host_copy(int threads);

/// Starts using the GPU `ordinal` of gpus(), and times copies within its memory and to it, about
/// 0.3 s. Throws what device::use() throws.
GpuSpeed time_gpu(int ordinal);

/// Times messages between the first ranks of all pairs of nodes (of some pairs, if there are many),
/// and calls `report` on the lower rank of each pair. Collective over all ranks.
void time_links(const Communicator& communicator, const std::function<void(const Link&)>& report);

}  // namespace halocline::doctor
