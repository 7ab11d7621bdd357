// SPDX-License-Identifier: Apache-2.0
#pragma once
// The rules of doctor: each looks at the evidence for one kind of problem. A new rule is a function
// in one of the rules_*.cpp and a row here.

#include <optional>
#include <string>
#include <vector>

#include "doctor/findings.hpp"

namespace halocline::doctor::rules {

using Findings = std::vector<Finding>;

inline void append(Findings& found, const Findings& more) {
  found.insert(found.end(), more.begin(), more.end());
}

// rules_start.cpp: whether ranks start at all, where they run, and whether they end.
Findings launcher(const Evidence& evidence);
Findings other_in_path(const Evidence& evidence);
Findings start_of_ranks(const Evidence& evidence);
Findings not_tested(const Evidence& evidence);
Findings cores(const Evidence& evidence);
Findings bound_threads(const Evidence& evidence);
Findings end_of_ranks(const Evidence& evidence);
// rules_node.cpp: limits of the node or the container.
Findings shared_memory(const Evidence& evidence);
Findings namespaces(const Evidence& evidence);
Findings direct_reads(const Evidence& evidence);
Findings locked_memory(const Evidence& evidence);
Findings other_work(const Evidence& evidence);
// rules_gpu.cpp: GPUs, and MPI's support for them.
Findings gpus(const Evidence& evidence);
Findings reach_of_gpus(const Evidence& evidence);
Findings gpu_aware(const Evidence& evidence);
Findings settings(const Evidence& evidence);
// rules_paths.cpp: failed and slow paths.
Findings failed_paths(const Evidence& evidence);
Findings no_shared_transport(const Evidence& evidence);
Findings crossover(const Evidence& evidence);
Findings slow_paths(const Evidence& evidence);
// rules_libraries.cpp: libraries loaded at run time.
Findings transports_of_libraries(const Evidence& evidence);
Findings libraries(const Evidence& evidence);
// rules_network.cpp: networks that MPI uses within a node and between nodes.
Findings tcp_within_a_node(const Evidence& evidence);
Findings network(const Evidence& evidence);
// rules_memory.cpp: MPI with memory of other allocators, and collectives.
Findings other_memory(const Evidence& evidence);
Findings collectives_on_hosts(const Evidence& evidence);
Findings collectives_on_gpus(const Evidence& evidence);
// rules_nodes.cpp: differences between nodes, and slow nodes.
Findings differences(const Evidence& evidence);
Findings slow_nodes(const Evidence& evidence);
Findings adapters_of_gpus(const Evidence& evidence);

inline constexpr Findings (*all[])(const Evidence&) = {launcher,
                                                       other_in_path,
                                                       start_of_ranks,
                                                       not_tested,
                                                       failed_paths,
                                                       gpus,
                                                       gpu_aware,
                                                       transports_of_libraries,
                                                       collectives_on_hosts,
                                                       shared_memory,
                                                       namespaces,
                                                       reach_of_gpus,
                                                       cores,
                                                       bound_threads,
                                                       tcp_within_a_node,
                                                       slow_paths,
                                                       crossover,
                                                       no_shared_transport,
                                                       network,
                                                       direct_reads,
                                                       locked_memory,
                                                       other_work,
                                                       settings,
                                                       libraries,
                                                       differences,
                                                       slow_nodes,
                                                       adapters_of_gpus,
                                                       end_of_ranks,
                                                       other_memory,
                                                       collectives_on_gpus};

/// With less, even the two ranks of a probe may fail: MPI takes 4 to 8 MiB of /dev/shm per rank
/// (Open MPI 4.1.4 and MPICH 4.0.2, two ranks).
inline constexpr std::int64_t shm_bytes_per_rank = std::int64_t{8} << 20;

/// A cause of a failure, and its fix.
struct Cause {
  std::string seen, fix;
};

/// Limits on this user's processes that a launcher and its ranks may hit: room for MPI's files,
/// open files, processes, memory.
std::optional<Cause> tight_limits(const Evidence& evidence);
/// The same, if it may explain how a path failed: not for wrong bytes, a crash or a lost rank.
std::optional<Cause> tight_limits_for(const Evidence& evidence, const PathResult& result);

/// Returns how to make /dev/shm larger, or how to avoid it.
std::string larger_shm(const Facts& facts);

/// Returns the fix for a library preloaded between program and MPI; empty if there is none.
std::string fix_for_preload(const Facts& facts);

/// Returns the fix for a lost rank; empty if `seen` reports none.
std::string fix_for_lost_rank(const std::string& seen);

/// Returns the fix for a rank that ran out of memory or was killed; empty if `seen` reports none.
std::string fix_for_memory(const std::string& seen);

/// Returns the number of the probes' ranks on this node.
inline int ranks_here(const Evidence& evidence) {
  return (evidence.ranks + evidence.nodes - 1) / evidence.nodes;
}

/// "/dev/shm has a size of 64 KiB, 16 MiB are needed"; empty if it is large enough for MPI on
/// `ranks` ranks, and for transport shared with messages of `message_bytes`.
std::string small_shm(const Evidence& evidence, int ranks, std::int64_t message_bytes = 0);

/// Why ranks of a node cannot share memory, judging by their namespaces and mounts.
std::optional<Cause> separate_memory(const Evidence& evidence);

/// Returns whether other processes compete for the cores.
bool is_busy(const Evidence& evidence);
/// "load 7.3 on 2 hardware threads".
std::string load_text(const Evidence& evidence);

/// A setting that keeps MPI from using shared memory within a node.
std::optional<Cause> detour_within_a_node(const Evidence& evidence);

}  // namespace halocline::doctor::rules
