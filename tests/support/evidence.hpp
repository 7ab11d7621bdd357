// SPDX-License-Identifier: Apache-2.0
#pragma once
// Made-up evidence for what doctor makes of it.

#include <ostream>
#include <string>

#include "doctor/findings.hpp"

namespace halocline::doctor {

/// What googletest prints of one.
inline void PrintTo(const Finding& finding, std::ostream* out) {
  *out << name_of(finding.severity) << ": " << finding.what << "; seen: " << finding.seen
       << "; do: " << finding.fix;
}

}  // namespace halocline::doctor

namespace halocline::doctor::made_up {

inline const Variables with_cache_off{{"UCX_MEMTYPE_CACHE", "n"}};

inline PathResult works(const char* transport, Memory memory, double us_of_64_kib) {
  PathResult result{.path = {transport, memory}, .outcome = Outcome::works};
  for (const std::int64_t bytes : probe::sizes_to_time())
    result.times.push_back({bytes, 1 + us_of_64_kib * static_cast<double>(bytes) / (64 << 10)});
  return result;
}

inline PathResult ends(const char* transport, Memory memory, Outcome outcome, const char* how) {
  return {.path = {transport, memory}, .outcome = outcome, .how = how};
}

/// A node with 4 cores where all is well.
inline Evidence healthy() {
  Evidence evidence;
  NodeFacts& node = evidence.facts.node;
  node.host = "node1";
  node.processor = "AMD EPYC";
  node.usable_cores = node.online_threads = 4;
  node.allowed_cores = "0-3";
  node.mpi = "Open MPI 4.1.6";
  node.limits.shm_bytes = node.limits.shm_free_bytes = std::int64_t{8} << 30;
  evidence.facts.launching.launcher = Launcher{LauncherKind::open_mpi, "/usr/bin/mpirun"};
  for (const int rank : {0, 1})
    evidence.facts.ranks.ranks.push_back({.rank = rank,
                                          .size = 2,
                                          .host = "node1",
                                          .mpi = node.mpi,
                                          .cores = "0-3",
                                          .ipc_namespace = "ipc:[1]",
                                          .process_namespace = "pid:[1]",
                                          .shm_device = "27"});
  evidence.facts.ranks.direct_reads = true;
  evidence.paths = {works("MPI_Send", Memory::host, 0), works("mpi", Memory::host, 10),
                    works("shared", Memory::host, 8)};
  evidence.paths.front().times.clear();
  return evidence;
}

/// The same with two GPUs, and an MPI that takes their memory.
inline Evidence with_gpus() {
  Evidence evidence = healthy();
  NodeFacts& node = evidence.facts.node;
  node.built_with_cuda = true;
  node.gpu_files = 2;
  ProbeFacts& ranks = evidence.facts.ranks;
  for (const int rank : {0, 1}) {
    machine::RankFacts facts;
    facts.rank = rank;
    for (const int ordinal : {0, 1}) {
      machine::VisibleGpu& visible = facts.visible.emplace_back();
      visible.gpu.ordinal = ordinal;
      visible.gpu.uuid = "GPU-" + std::to_string(ordinal);
      visible.gpu.name = "NVIDIA H200";
    }
    ranks.machine.push_back(facts);
  }
  ranks.peer_access = {true, true, true, true};
  evidence.gpu_pair = proof::GpuPair::same_node;
  evidence.paths.push_back(works("peer", Memory::device, 1));
  evidence.paths.push_back(works("staged", Memory::device, 10));
  evidence.paths.push_back(works("gpu_aware", Memory::device, 1.5));
  return evidence;
}

/// The same, with collectives that work on a GPU's memory too.
inline Evidence with_collectives() {
  Evidence evidence = with_gpus();
  evidence.collectives = {works(collectives[0], Memory::host, 8)};
  for (const char* name : collectives)
    evidence.collectives.push_back(works(name, Memory::device, 10));
  return evidence;
}

/// The result of gpu_aware in with_gpus().
inline PathResult& aware(Evidence& evidence) { return evidence.paths.back(); }

/// Three nodes alike, with one GPU and one rank each.
inline Evidence three_nodes() {
  Evidence evidence = with_gpus();
  evidence.ranks = evidence.nodes = 3;
  ProbeFacts& ranks = evidence.facts.ranks;
  ranks.ranks.push_back(ranks.ranks.back());
  ranks.machine.push_back(ranks.machine.back());
  for (const int node : {0, 1, 2}) {
    const auto at = static_cast<std::size_t>(node);
    const std::string host = "n" + std::to_string(node + 1);
    ranks.ranks[at].rank = node;
    ranks.ranks[at].size = 3;
    ranks.ranks[at].host = host;
    ranks.machine[at].rank = ranks.machine[at].node = node;
    ranks.machine[at].host = host;
    for (machine::VisibleGpu& one : ranks.machine[at].visible) one.gpu.uuid += "-of-" + host;
    ranks.nodes.push_back({.node = node,
                           .host = host,
                           .processor = "AMD EPYC",
                           .online_threads = 4,
                           .mpi = "Open MPI 4.1.6",
                           .libraries = {"/usr/lib/libmpi.so.40 (7 bytes)"},
                           .kernel_driver = "580.65.06",
                           .gpus = {"NVIDIA H200"},
                           .memory_gb_per_s = 20,
                           .count_us = 1000,
                           .speeds = {{0, "NVIDIA H200", 4000, 50}}});
  }
  ranks.links = {{0, 1, 2, 20}, {0, 2, 2, 20}, {1, 2, 2, 20}};
  return evidence;
}

}  // namespace halocline::doctor::made_up
