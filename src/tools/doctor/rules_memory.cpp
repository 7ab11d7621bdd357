// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text/format.hpp"
#include "doctor/rules.hpp"

namespace halocline::doctor::rules {
namespace {

std::string joined(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, " and "));
}

std::string words_for_allocator(const Path& path) {
  return path.allocator == device::Allocator::pool ? "from memory pools (cudaMallocAsync)"
                                                   : "from CUDA's virtual memory (cuMemMap)";
}

constexpr auto give_it_other_memory =
    "give MPI memory from cudaMalloc, or use transport peer or staged, which accept any; UCX "
    "supports pools since 1.14, and copies memory that processes cannot share through its own";

bool is_of_other_allocator(const PathResult& result) {
  return result.path.transport == "gpu_aware" &&
         result.path.allocator != device::Allocator::ordinary;
}

/// Returns the result of gpu_aware with memory of cudaMalloc, at the same settings and distance.
const PathResult* ordinary_of(const Evidence& evidence, const PathResult& result) {
  const Path path{"gpu_aware", Memory::device, result.path.distance};
  for (const PathResult& one : evidence.paths)
    if (one.path == path && one.with == result.with) return &one;
  return nullptr;
}

Findings refused_memory(const Evidence& evidence) {
  std::vector<std::string> names;
  std::string seen;
  for (const PathResult& result : evidence.paths) {
    if (!is_of_other_allocator(result) || !is_failure(result.outcome)) continue;
    const std::string words = words_for_allocator(result.path);
    if (std::find(names.begin(), names.end(), words) == names.end()) names.push_back(words);
    seen += fmt::format("{}{}: {}", seen.empty() ? "" : "; ", words_for(result.path), result.how);
  }
  if (names.empty()) return {};
  return {{Severity::broken,
           fmt::format("{} accepts memory from cudaMalloc, but not {}", evidence.facts.node.mpi,
                       joined(names)),
           seen, give_it_other_memory}};
}

Findings slow_memory(const Evidence& evidence) {
  // Smaller differences are noise, or the copies of packed fields.
  constexpr double clearly = 2;
  Findings found;
  for (const PathResult& result : evidence.paths) {
    const PathResult* ordinary =
        is_of_other_allocator(result) ? ordinary_of(evidence, result) : nullptr;
    if (ordinary == nullptr) continue;
    // The largest messages, since for smaller ones MPI's detection of the memory type dominates.
    if (result.times.empty()) continue;
    const probe::Time& largest = result.times.back();
    const std::optional<double> less = us_for(*ordinary, largest.bytes);
    if (!less || largest.us <= clearly * *less) continue;
    found.push_back(
        {Severity::note,
         fmt::format("{} is slow with memory {}{}", evidence.facts.node.mpi,
                     words_for_allocator(result.path),
                     result.path.distance == Distance::other_node ? " between nodes" : ""),
         fmt::format("{}: {}, from cudaMalloc {}", bytes_text(largest.bytes), us_text(largest.us),
                     us_text(*less)),
         give_it_other_memory});
  }
  return found;
}

using Collectives = std::vector<const PathResult*>;

std::string names_of(const Collectives& results) {
  std::vector<std::string> names;
  for (const PathResult* result : results) names.push_back(result->path.transport);
  return joined(names);
}

std::string seen_of(const Collectives& results) {
  std::string seen;
  for (const PathResult* result : results)
    seen += fmt::format("{}{}: {}", seen.empty() ? "" : "; ", result->path.transport, result->how);
  const Variables& with = results.front()->with;
  return with.empty() ? seen : fmt::format("{}; with {}", seen, settings_text(with));
}

std::string fix_of_collectives(const Evidence& evidence) {
  constexpr auto on_the_host =
      "copy data to the host before reducing or broadcasting, as Halocline does with its norms";
  const std::string build = evidence.facts.node.family == MpiFamily::open_mpi
                                ? "an Open MPI configured --with-cuda (ompi_info lists coll: cuda "
                                  "or accelerator); a UCX with CUDA is not enough"
                                : "an MPICH configured --with-cuda, with MPIR_CVAR_ENABLE_GPU=1";
  return fmt::format("{}; or use {}", on_the_host, build);
}

/// A reduction on the host takes two copies in addition.
Findings slow_reduction(const Evidence& evidence) {
  constexpr std::int64_t small = 8;
  // Time of a synchronous copy to or from the host.
  constexpr double copy_us = 10;
  std::optional<double> on_gpu, on_host;
  for (const PathResult& result : evidence.collectives) {
    if (result.path.transport != collectives[0] || result.outcome != Outcome::works) continue;
    (result.path.memory == Memory::host ? on_host : on_gpu) = us_for(result, small);
  }
  if (!on_gpu || !on_host || *on_gpu <= 2 * (*on_host + 2 * copy_us)) return {};
  return {{Severity::note, "MPI reduces a single number faster on the host than on GPUs",
           fmt::format("MPI_Allreduce of 8 bytes: {} in device memory, {} in host memory",
                       us_text(*on_gpu), us_text(*on_host)),
           "copy single numbers to the host first, as Halocline does with its norms"}};
}

}  // namespace

Findings other_memory(const Evidence& evidence) {
  Findings found = refused_memory(evidence);
  append(found, slow_memory(evidence));
  return found;
}

Findings collectives_on_hosts(const Evidence& evidence) {
  Collectives wrong, lost;
  for (const PathResult& result : evidence.collectives) {
    if (result.path.memory != Memory::host || !is_failure(result.outcome)) continue;
    (result.outcome == Outcome::wrong ? wrong : lost).push_back(&result);
  }
  const std::string of_preload = fix_for_preload(evidence.facts);
  const std::optional<Cause> lack =
      lost.empty() ? std::nullopt : tight_limits_for(evidence, *lost.front());
  const std::string of_memory = lost.empty() ? "" : fix_for_memory(lost.front()->how);
  const std::string fix = !of_preload.empty()  ? of_preload
                          : !of_memory.empty() ? of_memory
                          : evidence.facts.node.family == MpiFamily::open_mpi
                              ? "check whether it works without third-party parts: mpirun --mca "
                                "coll ^hcoll,ucc; otherwise use another version of this MPI"
                              : "check whether it works with MPIR_CVAR_ENABLE_HCOLL=0; otherwise "
                                "use another version of this MPI";
  Findings found;
  if (!wrong.empty())
    found.push_back({Severity::broken,
                     fmt::format("{} returns wrong values from {} on host memory",
                                 evidence.facts.node.mpi, names_of(wrong)),
                     seen_of(wrong), fix});
  if (!lost.empty())
    found.push_back({Severity::broken,
                     fmt::format("{} with host memory {} not work", names_of(lost),
                                 lost.size() == 1 ? "does" : "do"),
                     lack ? fmt::format("{}; {}", seen_of(lost), lack->seen) : seen_of(lost),
                     lack ? lack->fix : fix});
  return found;
}

Findings collectives_on_gpus(const Evidence& evidence) {
  const std::string& mpi = evidence.facts.node.mpi;
  Collectives wrong, lost, working;
  for (const PathResult& result : evidence.collectives) {
    if (result.outcome != Outcome::works && !is_failure(result.outcome)) continue;
    // Collectives that fail on the host are reported by the rule for hosts.
    if (result.path.memory == Memory::host && result.outcome != Outcome::works) return {};
    if (result.path.memory == Memory::device)
      (result.outcome == Outcome::works   ? working
       : result.outcome == Outcome::wrong ? wrong
                                          : lost)
          .push_back(&result);
  }
  const bool messages_work = settings_that_work(evidence).has_value();
  Findings found;
  if (!wrong.empty())
    found.push_back(
        {Severity::broken,
         fmt::format("{} returns wrong values from {} on GPU memory", mpi, names_of(wrong)),
         seen_of(wrong), fix_of_collectives(evidence)});
  if (!lost.empty() && messages_work)
    found.push_back(
        {evidence.facts.ranks.claims_gpu.value_or(false) ? Severity::broken : Severity::absent,
         fmt::format("{} accepts GPU memory in messages, but not in {}", mpi, names_of(lost)),
         seen_of(lost), fix_of_collectives(evidence)});
  if (!working.empty() && !messages_work)
    found.push_back(
        {Severity::note,
         fmt::format("{} accepts GPU memory in {}, but not in messages", mpi, names_of(working)),
         "every value was right", ""});
  append(found, slow_reduction(evidence));
  return found;
}

}  // namespace halocline::doctor::rules
