// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "doctor/rules.hpp"
#include "report/format.hpp"

namespace halocline::doctor::rules {
namespace {

/// Ranks that a run here would have on this node.
int likely_ranks(const Evidence& evidence) {
  const int gpus = evidence.facts.ranks.machine.empty()
                       ? 0
                       : static_cast<int>(evidence.facts.ranks.machine.front().visible.size());
  return std::max(ranks_here(evidence), gpus > 0 ? gpus : evidence.facts.node.usable_cores);
}

/// True if two ranks of a host differ in what `of` says.
template <class Of>
bool differ(const std::vector<RankSeen>& ranks, const Of& of) {
  return std::any_of(ranks.begin(), ranks.end(), [&](const RankSeen& rank) {
    return rank.host == ranks.front().host && of(rank) != of(ranks.front());
  });
}

}  // namespace

std::string small_shm(const Evidence& evidence, int ranks) {
  const Limits& limits = evidence.facts.node.limits;
  if (!limits.shm_bytes) return "/dev/shm is missing";
  if (*limits.shm_bytes < shm_bytes_per_rank * ranks)
    return fmt::format("/dev/shm has a size of {}", bytes_text(*limits.shm_bytes));
  if (*limits.shm_free_bytes < shm_bytes_per_rank * ranks)
    return fmt::format("/dev/shm has {} free of {}", bytes_text(*limits.shm_free_bytes),
                       bytes_text(*limits.shm_bytes));
  return "";
}

Findings shared_memory(const Evidence& evidence) {
  const std::string here = small_shm(evidence, ranks_here(evidence));
  // What it broke is told by those who saw it.
  if (!start_of_ranks(evidence).empty() || !failed_paths(evidence).empty()) return {};
  const int many = likely_ranks(evidence);
  const std::string later = small_shm(evidence, many);
  const auto needed = [](int ranks) {
    return fmt::format(
        "MPI and transport shared need up to {} of it for each of {} ranks, and "
        "more for large halos",
        bytes_text(shm_bytes_per_rank), ranks);
  };
  if (!here.empty())
    return {{Severity::slow,
             "/dev/shm is too small: MPI and transport shared may crash with a bus error, or use a "
             "slower path",
             fmt::format("{}; {}", here, needed(ranks_here(evidence))), larger_shm}};
  if (!later.empty())
    return {{Severity::note, fmt::format("/dev/shm is small for {} ranks", many),
             fmt::format("{}; {}", later, needed(many)), larger_shm}};
  return {};
}

Findings namespaces(const Evidence& evidence) {
  const auto& ranks = evidence.facts.ranks.ranks;
  if (ranks.size() < 2) return {};
  Findings found;
  if (differ(ranks, [](const RankSeen& rank) { return rank.ipc_namespace; }))
    found.push_back(
        {Severity::slow,
         "ranks of this node are in separate IPC namespaces: CUDA IPC (transport peer) and shared "
         "memory do not work between them",
         fmt::format("rank {} is in {}, rank {} in {}", ranks.front().rank,
                     ranks.front().ipc_namespace, ranks.back().rank, ranks.back().ipc_namespace),
         "start all ranks of a node in one container, or each container with --ipc=host; do not "
         "use unshare --ipc"});
  if (differ(ranks, [](const RankSeen& rank) { return rank.shm_device; }))
    found.push_back({Severity::slow, "ranks of this node see different /dev/shm",
                     "its device number differs between ranks",
                     "start all ranks of a node in one container, or each with --ipc=host"});
  if (differ(ranks, [](const RankSeen& rank) { return rank.process_namespace; }))
    found.push_back({Severity::slow,
                     "ranks of this node do not see each other's processes: MPI cannot copy "
                     "directly between them",
                     fmt::format("rank {} is in {}, rank {} in {}", ranks.front().rank,
                                 ranks.front().process_namespace, ranks.back().rank,
                                 ranks.back().process_namespace),
                     "start all ranks of a node in one container, or each with --pid=host"});
  return found;
}

Findings direct_reads(const Evidence& evidence) {
  const RankFacts& ranks = evidence.facts.ranks;
  if (ranks.direct_reads.value_or(true)) return {};
  const Limits& limits = evidence.facts.node.limits;
  std::string seen =
      fmt::format("process_vm_readv between two ranks: {}", ranks.direct_reads_because);
  if (limits.ptrace_scope.value_or(0) > 0)
    seen += fmt::format("; kernel.yama.ptrace_scope is {}", *limits.ptrace_scope);
  if (!limits.may_trace) seen += "; without CAP_SYS_PTRACE";
  return {{Severity::note,
           "MPI cannot copy directly between processes (CMA): large messages between ranks of a "
           "node are copied twice",
           seen,
           limits.container.empty()
               ? "as root: sysctl kernel.yama.ptrace_scope=0"
               : fmt::format("run the container with --cap-add=SYS_PTRACE ({} detected)",
                             limits.container)}};
}

Findings locked_memory(const Evidence& evidence) {
  constexpr std::int64_t enough = std::int64_t{64} << 20;
  const NodeFacts& node = evidence.facts.node;
  if (node.adapters.empty() || node.limits.memlock_bytes.value_or(enough) >= enough) return {};
  return {{Severity::slow,
           "the limit on locked memory is low; InfiniBand needs it to register buffers",
           fmt::format("ulimit -l is {}; adapter {}", bytes_text(*node.limits.memlock_bytes),
                       node.adapters.front().name),
           "ulimit -l unlimited (limits.conf: memlock; docker run --ulimit memlock=-1)"}};
}

}  // namespace halocline::doctor::rules
