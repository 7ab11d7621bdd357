// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory that the ranks of a node may use.

#include <cstdint>
#include <string>

#include <halocline/communicator.hpp>

namespace halocline::solver {

struct NodeMemory {
  std::int64_t available_bytes;  ///< without swapping or killing processes
  std::int64_t total_bytes;
  bool of_control_group = false;  ///< a control group (of a container or a batch job) has less
};

/// The files in which Linux reports the amount of memory.
struct MemoryPlaces {
  std::string processes = "/proc";  ///< has meminfo and self/cgroup
  std::string control_groups = "/sys/fs/cgroup";
};

/// Returns this node's memory, or the least that a control group of this process or one above it
/// leaves. Files that the kernel keeps in memory count as available, since it drops them.
NodeMemory node_memory(const MemoryPlaces& places = {});

/// The memory that every rank will allocate on the host.
struct HostNeed {
  std::int64_t bytes_per_rank = 0;
  std::string what;    ///< "messages of 1048576 bytes"
  std::string advice;  ///< "use smaller messages"
};

/// Throws resource, the same on every rank of a node or nearly so, if the ranks of this node
/// together need more memory than it has available.
void require_memory(const Communicator& communicator, const HostNeed& need);

}  // namespace halocline::solver
