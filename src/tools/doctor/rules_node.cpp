// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text/format.hpp"
#include "doctor/rules.hpp"

namespace halocline::doctor::rules {
namespace {

/// Estimates the ranks that a run would have on this node.
int likely_ranks(const Evidence& evidence) {
  const int gpus = evidence.facts.ranks.machine.empty()
                       ? 0
                       : static_cast<int>(evidence.facts.ranks.machine.front().visible.size());
  return std::max(ranks_here(evidence), gpus > 0 ? gpus : evidence.facts.node.usable_cores);
}

/// Returns whether two ranks of a host differ in `of`.
template <class Of>
bool differ(const std::vector<RankSeen>& ranks, const Of& of) {
  return std::any_of(ranks.begin(), ranks.end(), [&](const RankSeen& rank) {
    return rank.host == ranks.front().host && of(rank) != of(ranks.front());
  });
}

}  // namespace

std::string larger_shm(const Facts& facts) {
  // The parameter moves Open MPI's shared memory between ranks; its windows are in TMPDIR anyway.
  const bool is_open_mpi = facts.node.family == MpiFamily::open_mpi;
  return fmt::format(
      "make /dev/shm larger: docker or podman run --shm-size=8g (or --ipc=host), in Kubernetes an "
      "emptyDir with medium Memory; on your own node: mount -o remount,size=50% /dev/shm; until "
      "then use --transport mpi{}",
      is_open_mpi ? ", and where MPI itself fails mpirun --mca btl_vader_backing_directory /tmp"
                  : "");
}

std::optional<Cause> tight_limits(const Evidence& evidence) {
  const Limits& limits = evidence.facts.node.limits;
  // Open MPI 4.1.4, two ranks: 5 MiB in TMPDIR, 35 open files in mpirun, 5 threads per process, 240
  // MiB of addresses before the first message, shared files of 4 MiB.
  constexpr std::int64_t enough_bytes = std::int64_t{16} << 20;
  constexpr std::int64_t enough_addresses = std::int64_t{1} << 30;
  constexpr std::int64_t few_files = 64, files_per_rank = 8, few_processes = 256;
  // Doctor's own ranks may take more than that on a busy machine.
  constexpr std::int64_t few_seconds = 60;
  std::vector<std::string> seen, fixes;
  const auto add = [&](std::string observation, std::string fix) {
    seen.push_back(std::move(observation));
    fixes.push_back(std::move(fix));
  };
  const ProcessLimits& of_processes = limits.of_processes;
  if (!limits.temporary.empty() && !limits.temporary_free_bytes) {
    add(fmt::format("the folder for temporary files, {}, is missing", limits.temporary),
        "set TMPDIR to a folder that is there and can be written");
  } else if (!limits.temporary_is_writable) {
    add(fmt::format("the folder for temporary files, {}, cannot be written to", limits.temporary),
        "set TMPDIR to a folder that can be written to");
  } else if (limits.temporary_free_bytes.value_or(enough_bytes) < enough_bytes) {
    add(fmt::format("{}, where MPI keeps what its processes share, has {} free", limits.temporary,
                    bytes_text(*limits.temporary_free_bytes)),
        fmt::format("free some space in {}, or set TMPDIR to a folder of another disk",
                    limits.temporary));
  }
  const std::int64_t files = few_files + files_per_rank * ranks_here(evidence);
  if (of_processes.open_files.value_or(files) < files)
    add(fmt::format("ulimit -n allows {} open files", *of_processes.open_files),
        fmt::format("ulimit -n {0} (limits.conf: nofile; docker run --ulimit nofile={0})",
                    std::max<std::int64_t>(1024, files)));
  if (of_processes.processes.value_or(few_processes) < few_processes &&
      !evidence.facts.node.is_root)
    add(fmt::format("ulimit -u allows this user {} processes and threads", *of_processes.processes),
        "ulimit -u 4096 (limits.conf: nproc; docker run --ulimit nproc=4096)");
  if (of_processes.address_bytes.value_or(enough_addresses) < enough_addresses)
    add(fmt::format("ulimit -v allows each process {} of addresses",
                    bytes_text(*of_processes.address_bytes)),
        "ulimit -v unlimited (limits.conf: as; in a batch job request more memory)");
  if (of_processes.file_bytes.value_or(enough_bytes) < enough_bytes)
    add(fmt::format("ulimit -f allows files of {}, also in memory",
                    bytes_text(*of_processes.file_bytes)),
        "ulimit -f unlimited (limits.conf: fsize)");
  if (of_processes.cpu_seconds.value_or(few_seconds) < few_seconds)
    add(fmt::format("ulimit -t allows each process {} s of processor time",
                    *of_processes.cpu_seconds),
        "ulimit -t unlimited (limits.conf: cpu)");
  if (seen.empty()) return std::nullopt;
  return Cause{fmt::format("{}", fmt::join(seen, "; ")), fmt::format("{}", fmt::join(fixes, "; "))};
}

std::string small_shm(const Evidence& evidence, int ranks, std::int64_t message_bytes) {
  const Limits& limits = evidence.facts.node.limits;
  if (!limits.shm_bytes) return "/dev/shm is missing";
  // Transport shared has two buffers for each neighbour in the ring.
  const std::int64_t neighbours = std::min(ranks - 1, 2);
  const std::int64_t needed = ranks * (shm_bytes_per_rank + 2 * neighbours * message_bytes);
  const std::string of_what = message_bytes == 0 ? fmt::format("{} ranks", ranks)
                                                 : fmt::format("{} ranks with messages of {}",
                                                               ranks, bytes_text(message_bytes));
  if (*limits.shm_bytes < needed)
    return fmt::format("/dev/shm has a size of {}, {} need up to {}", bytes_text(*limits.shm_bytes),
                       of_what, bytes_text(needed));
  if (limits.shm_free_bytes.value_or(*limits.shm_bytes) < needed)
    return fmt::format("/dev/shm has {} free of {}, {} need up to {}",
                       bytes_text(*limits.shm_free_bytes), bytes_text(*limits.shm_bytes), of_what,
                       bytes_text(needed));
  return "";
}

Findings shared_memory(const Evidence& evidence) {
  const std::string here = small_shm(evidence, ranks_here(evidence));
  // Rules about failures that it caused report it themselves.
  if (!start_of_ranks(evidence).empty() || !failed_paths(evidence).empty() ||
      !no_shared_transport(evidence).empty())
    return {};
  const int many = likely_ranks(evidence);
  const std::string later = small_shm(evidence, many);
  const std::string more = "larger halos need more";
  if (!here.empty())
    return {{Severity::slow,
             "/dev/shm is too small: MPI and transport shared may crash with a bus error, or use a "
             "slower path",
             fmt::format("{}; {}", here, more), larger_shm(evidence.facts)}};
  if (!later.empty())
    return {{Severity::note, fmt::format("/dev/shm is small for {} ranks", many),
             fmt::format("{}; {}", later, more), larger_shm(evidence.facts)}};
  return {};
}

std::optional<Cause> separate_memory(const Evidence& evidence) {
  const auto& ranks = evidence.facts.ranks.ranks;
  if (ranks.size() < 2) return std::nullopt;
  if (differ(ranks, [](const RankSeen& rank) { return rank.shm_device; }))
    return Cause{
        "ranks of this node see different /dev/shm: its device number differs between them",
        "start all ranks of a node in one container, or each container with --ipc=host, so that "
        "they see one /dev/shm; do not mount one for each rank"};
  if (differ(ranks, [](const RankSeen& rank) { return rank.ipc_namespace; }))
    return Cause{
        fmt::format("rank {} is in {}, rank {} in {}", ranks.front().rank,
                    ranks.front().ipc_namespace, ranks.back().rank, ranks.back().ipc_namespace),
        "start all ranks of a node in one container, or each container with --ipc=host; do not use "
        "unshare --ipc"};
  return std::nullopt;
}

Findings namespaces(const Evidence& evidence) {
  const auto& ranks = evidence.facts.ranks.ranks;
  if (ranks.size() < 2) return {};
  Findings found;
  // Rules about failures that it caused report it themselves.
  const bool is_reported =
      !failed_paths(evidence).empty() || !no_shared_transport(evidence).empty();
  if (const std::optional<Cause> why = separate_memory(evidence); why && !is_reported) {
    const PathResult* peer = result_of(evidence, {"peer", Memory::device});
    const bool gpus_suffer = peer != nullptr && peer->outcome != Outcome::works;
    found.push_back({gpus_suffer ? Severity::slow : Severity::note,
                     gpus_suffer ? "ranks of this node are in separate IPC namespaces: kernels "
                                   "cannot store into the neighbour's GPU (transport peer)"
                                 : "ranks of this node are in separate IPC namespaces, where CUDA "
                                   "IPC (transport peer) and some ways of MPI do not work",
                     gpus_suffer ? fmt::format("{}; {}", why->seen, peer->how) : why->seen,
                     why->fix});
  }
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

bool is_busy(const Evidence& evidence) {
  // Each rank of a probe needs a thread in addition to the load; half a process is noise.
  const NodeFacts& node = evidence.facts.node;
  return node.load && *node.load + ranks_here(evidence) > node.online_threads + 0.5;
}

std::string load_text(const Evidence& evidence) {
  const NodeFacts& node = evidence.facts.node;
  return fmt::format("load {:.1f} in the minute before, {} hardware thread{}",
                     node.load.value_or(0), node.online_threads,
                     node.online_threads == 1 ? "" : "s");
}

Findings other_work(const Evidence& evidence) {
  if (!is_busy(evidence)) return {};
  return {{Severity::note,
           "this machine is busy: results are correct, but times are longer than they could be",
           fmt::format("{}, {} ranks", load_text(evidence), ranks_here(evidence)),
           "see what else runs here (top, uptime), and repeat on a quiet machine before you "
           "compare times"}};
}

Findings direct_reads(const Evidence& evidence) {
  const ProbeFacts& ranks = evidence.facts.ranks;
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
