// SPDX-License-Identifier: Apache-2.0
#include <signal.h>

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text/format.hpp"
#include "doctor/rules.hpp"

namespace halocline::doctor::rules {
namespace {

/// Returns whether too little shared memory may explain a result.
bool may_lack_shared_memory(const PathResult& result) {
  return result.path.memory == Memory::host && result.path.distance == Distance::same_node &&
         result.outcome != Outcome::wrong;
}

/// "/dev/shm has a size of ..."; empty if shared memory does not explain the result.
std::string shm_shortage(const Evidence& evidence, const PathResult& result) {
  if (!may_lack_shared_memory(result) || separate_memory(evidence)) return "";
  return small_shm(evidence, ranks_here(evidence),
                   result.path.transport == "shared" ? last_tried(result) : 0);
}

/// Returns the fix for messages between nodes that do not arrive.
std::string fix_for_network(const Facts& facts, const PathResult& result) {
  if (result.arrived_bytes > 0)
    return fmt::format(
        "messages of up to {} arrive, so the nodes reach each other: check that the MTU is the "
        "same on both and on the switch between (ip link; tracepath), and whether the network "
        "loses packets (ip -s link); if it is only slow, use a longer --time-limit",
        bytes_text(result.arrived_bytes));
  return facts.node.family == MpiFamily::open_mpi
             ? "tell MPI which network connects the nodes: mpirun --mca btl_tcp_if_include NAME "
               "(ip -brief address shows names) or UCX_NET_DEVICES=NAME; and check that no "
               "firewall separates them"
             : "tell MPI which network connects the nodes: mpiexec -iface NAME (ip -brief address "
               "shows names), FI_TCP_IFACE=NAME; and check that no firewall separates them";
}

std::string fix_for(const Evidence& evidence, const PathResult& result) {
  const Facts& facts = evidence.facts;
  if (may_lack_shared_memory(result))
    if (const std::optional<Cause> why = separate_memory(evidence)) return why->fix;
  if (!shm_shortage(evidence, result).empty()) return larger_shm(facts);
  if (const std::optional<Cause> lack = tight_limits_for(evidence, result)) return lack->fix;
  if (std::string fix = fix_for_preload(facts); !fix.empty()) return fix;
  if (std::string fix = fix_for_memory(result.how); !fix.empty()) return fix;
  if (result.outcome == Outcome::out_of_order)
    return fmt::format(
        "wait for the stream (cudaStreamSynchronize) before and after each exchange{}, and update "
        "driver and MPI",
        result.path.transport == "staged" ? "" : ", or use transport staged");
  if (result.path.distance == Distance::other_node) return fix_for_network(facts, result);
  if (std::string fix = fix_for_lost_rank(result.how); !fix.empty()) return fix;
  if (result.path.transport == "peer")
    return "update driver and container; until then use transport staged";
  if (facts.node.family == MpiFamily::open_mpi)
    return "try another transport of this MPI: mpirun --mca pml ob1 --mca btl self,tcp; if that "
           "works, its shared memory or network layer is at fault; otherwise reinstall this MPI";
  return "try another transport of this MPI: FI_PROVIDER=tcp, MPIR_CVAR_NOLOCAL=1; if that works, "
         "its shared memory or network layer is at fault; otherwise reinstall this MPI";
}

/// Paths that failed alike, for one finding.
struct Group {
  Outcome outcome;
  std::string fix;
  std::vector<const PathResult*> results;
};

std::vector<Group> failures_of(const Evidence& evidence) {
  std::vector<Group> groups;
  for (const PathResult& result : evidence.paths) {
    const bool is_bad = is_failure(result.outcome) || result.outcome == Outcome::untried;
    // Other rules report gpu_aware, libraries and exceeded time limits.
    if (!is_bad || result.path.transport == "gpu_aware" || library_of(result.path) != nullptr ||
        result.out_of_time)
      continue;
    const std::string fix = fix_for(evidence, result);
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& one) {
      return one.outcome == result.outcome && one.fix == fix;
    });
    if (group == groups.end())
      groups.push_back({result.outcome, fix, {&result}});
    else
      group->results.push_back(&result);
  }
  return groups;
}

/// Returns how a path failed, and the cause if it is known.
std::string seen_with_cause(const Evidence& evidence, const PathResult& result) {
  std::string seen = result.how;
  if (const std::string lack = shm_shortage(evidence, result); !lack.empty()) seen += "; " + lack;
  if (const std::optional<Cause> lack = tight_limits_for(evidence, result))
    seen += "; " + lack->seen;
  if (const std::optional<Cause> why = separate_memory(evidence);
      why && may_lack_shared_memory(result))
    seen += "; " + why->seen;
  return seen;
}

const PathResult* working(const Evidence& evidence, const Path& path) {
  const PathResult* result = result_of(evidence, path);
  return result != nullptr && result->outcome == Outcome::works ? result : nullptr;
}

/// Returns the first working result of gpu_aware, with any settings.
const PathResult* working_gpu_aware(const Evidence& evidence) {
  for (const PathResult& result : evidence.paths)
    if (result.path == Path{"gpu_aware", Memory::device} && result.outcome == Outcome::works &&
        !result.times.empty())
      return &result;
  return nullptr;
}

/// Paths that are faster than the one that a run uses.
Findings faster_than_default(const Evidence& evidence) {
  // More than noise, and worth an option on the command line.
  constexpr double clearly = 1.5;
  constexpr std::int64_t halo_bytes = 64 << 10;
  Findings found;
  for (const auto& [memory, distance] : {std::pair(Memory::host, Distance::same_node),
                                         std::pair(Memory::device, Distance::same_node),
                                         std::pair(Memory::host, Distance::other_node),
                                         std::pair(Memory::device, Distance::other_node)}) {
    const std::optional<std::string> taken = taken_for(evidence, memory, distance);
    const PathResult* its = taken ? result_of(evidence, {*taken, memory, distance}) : nullptr;
    const std::optional<double> us = its != nullptr ? us_for(*its, halo_bytes) : std::nullopt;
    if (!us) continue;
    for (const PathResult& other : evidence.paths) {
      const std::optional<double> less = us_for(other, halo_bytes);
      if (other.path != Path{other.path.transport, memory, distance} || !other.with.empty() ||
          other.outcome != Outcome::works || !less || *us <= clearly * *less)
        continue;
      const bool is_librarys = library_of(other.path) != nullptr;
      // peer keeps the host out of all sweeps, which may pay despite slower exchanges.
      if (is_librarys && *taken == "peer") continue;
      found.push_back(
          {Severity::slow,
           fmt::format("a run with {} memory uses {}, though {} is faster here",
                       halocline::name_of(memory), *taken, other.path.transport),
           fmt::format("{}: {} {}, {} {}", bytes_text(halo_bytes), *taken, us_text(*us),
                       other.path.transport, us_text(*less)),
           is_librarys ? fmt::format("use --transport {}={}: auto does not take it by itself",
                                     distance == Distance::same_node ? "same-node" : "other-node",
                                     other.path.transport)
                       : fmt::format("use --transport {}; and check why {} is slow: nvidia-smi "
                                     "topo -m shows the links between GPUs",
                                     other.path.transport, *taken)});
    }
  }
  return found;
}

}  // namespace

std::string fix_for_lost_rank(const std::string& seen) {
  const auto has = [&](const char* words) { return seen.find(words) != std::string::npos; };
  // Texts of a rank whose wait timed out (comm/waiting.cpp, comm/watchdog.cpp), and of the prober.
  const bool is_silent = has("no output for") && has("before anything was sent");
  if (!has("rank is stopped, lost or") && !is_silent) return "";
  return "see what became of that rank: ps -eo pid,stat,args shows T for a process that is stopped "
         "(kill -CONT lets it go on), dmesg shows one that the kernel killed; if every try ends "
         "so, this MPI's shared memory or network layer is at fault: mpirun --mca pml ob1 --mca "
         "btl self,tcp, or with MPICH FI_PROVIDER=tcp, MPIR_CVAR_NOLOCAL=1";
}

std::string fix_for_memory(const std::string& seen) {
  if (seen.find("std::bad_alloc") != std::string::npos)
    return "a rank found no memory: raise the limit that its launcher or job sets (ulimit -v, "
           "docker run --memory, sbatch --mem), or free some (free -h)";
  if (seen.find("signal 9 (") == std::string::npos) return "";
  return "MPI sends no such signal: dmesg shows whether the kernel killed that rank for lack of "
         "memory; in a container or a batch job raise the limit on memory (docker run --memory, "
         "sbatch --mem)";
}

std::optional<Cause> tight_limits_for(const Evidence& evidence, const PathResult& result) {
  if (result.outcome == Outcome::wrong || result.outcome == Outcome::out_of_order ||
      result.signal == SIGSEGV || result.signal == SIGILL || result.signal == SIGFPE ||
      result.how.find("that rank is stopped, lost or") != std::string::npos)
    return std::nullopt;
  return tight_limits(evidence);
}

Findings failed_paths(const Evidence& evidence) {
  Findings found;
  for (const Group& group : failures_of(evidence)) {
    std::vector<std::string> names;
    for (const PathResult* result : group.results) names.push_back(words_for(result->path));
    const std::string paths = fmt::format("{}", fmt::join(names, " and "));
    const bool many = names.size() > 1;
    const std::string what = group.outcome == Outcome::wrong
                                 ? fmt::format("{} deliver{} wrong bytes", paths, many ? "" : "s")
                             : group.outcome == Outcome::out_of_order
                                 ? fmt::format(
                                       "{} do{} not follow the order of a GPU's stream: a program "
                                       "may read old data after an exchange",
                                       paths, many ? "" : "es")
                             : group.outcome == Outcome::untried
                                 ? fmt::format("{} could not be tried", paths)
                                 : fmt::format("{} do{} not work", paths, many ? "" : "es");
    found.push_back(
        {Severity::broken, what, seen_with_cause(evidence, *group.results.front()), group.fix});
  }
  return found;
}

Findings no_shared_transport(const Evidence& evidence) {
  const PathResult* result = result_of(evidence, {"shared", Memory::host});
  if (result == nullptr || result->outcome != Outcome::unavailable) return {};
  const std::string what =
      result->arrived_bytes == 0
          ? std::string("ranks of this node cannot use transport shared")
          : fmt::format("ranks of this node can use transport shared only for messages of up to {}",
                        bytes_text(result->arrived_bytes));
  const bool has_cause = !shm_shortage(evidence, *result).empty() || separate_memory(evidence) ||
                         tight_limits_for(evidence, *result) ||
                         !fix_for_preload(evidence.facts).empty();
  return {{Severity::slow, what, seen_with_cause(evidence, *result),
           has_cause ? fix_for(evidence, *result)
                     : "check that /dev/shm and TMPDIR can be written and have space (df -h "
                       "/dev/shm /tmp), and whether this MPI has shared windows "
                       "(MPI_Win_allocate_shared); until then runs use transport mpi"}};
}

Findings crossover(const Evidence& evidence) {
  const PathResult* aware = working_gpu_aware(evidence);
  const PathResult* staged = working(evidence, {"staged", Memory::device});
  if (aware == nullptr || staged == nullptr) return {};
  // A difference of a tenth is noise.
  constexpr double clearly = 1.1;
  std::optional<std::int64_t> slower_up_to;
  double ours = 0, theirs = 0;
  for (const probe::Time& time : aware->times) {
    const std::optional<double> other = us_for(*staged, time.bytes);
    if (!other || time.us <= clearly * *other) continue;
    slower_up_to = time.bytes;
    ours = time.us;
    theirs = *other;
  }
  if (!slower_up_to) return {};
  const bool everywhere = *slower_up_to == aware->times.back().bytes;
  const std::string seen = fmt::format("{}: gpu_aware {}, staged {}", bytes_text(*slower_up_to),
                                       us_text(ours), us_text(theirs));
  if (everywhere)
    return {
        {Severity::slow,
         "GPU-aware MPI works, but is slower than copies through the host even for large messages",
         seen,
         "MPI itself copies through the host: for Open MPI check that UCX lists cuda_ipc (ucx_info "
         "-d) and UCX_TLS does not exclude it; transport auto measures both and uses the faster "
         "one"}};
  return {{*slower_up_to >= 64 << 10 ? Severity::slow : Severity::note,
           fmt::format("GPU-aware MPI is slower than copies through the host for messages up to {}",
                       bytes_text(*slower_up_to)),
           seen,
           "send small halos through the host (transport staged), or many fields in one message; "
           "transport auto measures both and uses the faster one"}};
}

Findings slow_paths(const Evidence& evidence) {
  Findings found;
  constexpr std::int64_t small = 8, large = 16 << 20;
  // MPI takes about 1 us through shared memory; TCP, sleeping waits or a busy node take longer.
  constexpr double slow_us = 50;
  const PathResult* mpi = working(evidence, {"mpi", Memory::host});
  const std::optional<double> latency = mpi != nullptr ? us_for(*mpi, small) : std::nullopt;
  if (latency && *latency > slow_us && cores(evidence).empty() && !detour_within_a_node(evidence))
    found.push_back(
        {Severity::slow, "MPI's small messages are slow between ranks of this node",
         fmt::format("8 bytes each way: {} at best; shared memory takes about a microsecond{}",
                     us_text(*latency), is_busy(evidence) ? "; " + load_text(evidence) : ""),
         "check whether other processes use these cores (uptime), and whether MPI uses TCP: "
         "OMPI_MCA_btl, UCX_TLS, FI_PROVIDER must allow shared memory"});
  append(found, faster_than_default(evidence));
  const PathResult* peer = working(evidence, {"peer", Memory::device});
  const PathResult* staged = working(evidence, {"staged", Memory::device});
  const PathResult* aware = working_gpu_aware(evidence);
  if (peer == nullptr || staged == nullptr || aware == nullptr) return found;
  const std::optional<double> direct = us_for(*peer, large), other = us_for(*aware, large),
                              by_host = us_for(*staged, large);
  // MPI's direct path may be slower than ours, but not nearly as slow as the path through the host.
  if (direct && other && by_host && *other > 2 * *direct && *other > *by_host / 2)
    found.push_back({Severity::note,
                     "GPU-aware MPI does not use the direct path between these GPUs",
                     fmt::format("{}: gpu_aware {}, staged {}, peer {}", bytes_text(large),
                                 us_text(*other), us_text(*by_host), us_text(*direct)),
                     "where MPI uses UCX, ucx_info -d must list cuda_ipc, and UCX_TLS must not "
                     "exclude it; Halocline uses peer, other programs cannot"});
  return found;
}

}  // namespace halocline::doctor::rules
