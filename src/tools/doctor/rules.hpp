// SPDX-License-Identifier: Apache-2.0
#pragma once
// What doctor knows: each rule looks at the evidence for one kind of trouble. A new one is a
// function in one of the rules_*.cpp and a row here.

#include <optional>
#include <string>
#include <vector>

#include "doctor/findings.hpp"

namespace halocline::doctor::rules {

using Findings = std::vector<Finding>;

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
// rules_gpu.cpp: GPUs and what was promised about them.
Findings gpus(const Evidence& evidence);
Findings reach_of_gpus(const Evidence& evidence);
Findings gpu_aware(const Evidence& evidence);
Findings settings(const Evidence& evidence);
// rules_paths.cpp: what became of paths, and how fast they are.
Findings failed_paths(const Evidence& evidence);
Findings no_shared_transport(const Evidence& evidence);
Findings crossover(const Evidence& evidence);
Findings slow_paths(const Evidence& evidence);
// rules_libraries.cpp: NCCL, whose transport has to be asked for.
Findings transports_of_libraries(const Evidence& evidence);
Findings libraries(const Evidence& evidence);
// rules_network.cpp: what carries MPI's messages within a node and between nodes.
Findings tcp_within_a_node(const Evidence& evidence);
Findings network(const Evidence& evidence);
// rules_memory.cpp: MPI with memory of other allocators, and collectives.
Findings other_memory(const Evidence& evidence);
Findings collectives_on_hosts(const Evidence& evidence);
Findings collectives_on_gpus(const Evidence& evidence);
// rules_nodes.cpp: what differs between nodes, and who is slower than the others.
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

/// Less than this and the probes' own two ranks may fail: MPI takes 4 to 8 MiB of /dev/shm for a
/// rank (Open MPI 4.1.4 and MPICH 4.0.2, two ranks).
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

/// How to make /dev/shm larger, or to do without.
std::string larger_shm(const Facts& facts);

/// What to do about a library between program and MPI; empty if there is none.
std::string fix_for_preload(const Facts& facts);

/// What to do about a rank that others have waited for in vain; empty if nobody has.
std::string fix_for_lost_rank(const std::string& seen);

/// What to do about a rank that found no memory, or was killed, as for that; empty if none was.
std::string fix_for_memory(const std::string& seen);

/// The probes' ranks on this node.
inline int ranks_here(const Evidence& evidence) {
  return (evidence.ranks + evidence.nodes - 1) / evidence.nodes;
}

/// "/dev/shm has a size of 64 KiB, 16 MiB are needed"; empty if it is large enough for MPI on
/// `ranks`, and for transport shared with messages of `message_bytes` between them.
std::string small_shm(const Evidence& evidence, int ranks, std::int64_t message_bytes = 0);

/// Why ranks of a node cannot share memory, judging by their namespaces and mounts.
std::optional<Cause> separate_memory(const Evidence& evidence);

/// Whether other processes want the cores that ranks here would use.
bool is_busy(const Evidence& evidence);
/// "load 7.3 on 2 hardware threads".
std::string load_text(const Evidence& evidence);

/// A setting that keeps MPI from using shared memory within a node.
std::optional<Cause> detour_within_a_node(const Evidence& evidence);

}  // namespace halocline::doctor::rules
