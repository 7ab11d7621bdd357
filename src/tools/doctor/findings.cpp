// SPDX-License-Identifier: Apache-2.0
#include "doctor/findings.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "doctor/rules.hpp"

namespace halocline::doctor {

std::string_view name_of(Severity severity) {
  constexpr std::string_view names[] = {"broken", "slow", "untested", "absent", "note"};
  return names[static_cast<std::size_t>(severity)];
}

std::string setting(const Evidence& evidence, const char* name) {
  // Ranks did not get the variables that keep them from starting.
  if (evidence.facts.launching.blamed.contains(name)) return "";
  const auto found = evidence.facts.node.settings.find(name);
  return found == evidence.facts.node.settings.end() ? "" : found->second;
}

const PathResult* result_of(const Evidence& evidence, const Path& path) {
  for (const PathResult& result : evidence.paths)
    if (result.path == path && result.with.empty()) return &result;
  return nullptr;
}

const char* library_of(const Path& path) {
  for (const auto& [transport, library] : library_transports)
    if (path.transport == transport) return library;
  return nullptr;
}

const Library* library_named(const Facts& facts, std::string_view name) {
  for (const Library& library : facts.ranks.libraries)
    if (library.name == name) return &library;
  return nullptr;
}

bool may_not_start(const Evidence& evidence, const Path& path) {
  if (path.transport != "nvshmem") return false;
  if (evidence.gpu_pair == proof::GpuPair::same_gpu) return true;
  const std::vector<bool>& reaches = evidence.facts.ranks.peer_access;
  const bool needs_network = evidence.facts.ranks.nodes.size() > 1 ||
                             std::find(reaches.begin(), reaches.end(), false) != reaches.end();
  return needs_network && evidence.facts.node.adapters.empty();
}

bool is_expected(const PathResult& result) {
  const bool lacks_library =
      library_of(result.path) != nullptr && result.outcome == Outcome::unavailable;
  return !lacks_library && !is_for_few(result);
}

/// Returns whether kernels of a node's ranks cannot run at the same time; exchanges then avoid
/// `peer`.
bool kernels_take_turns(const Evidence& evidence) {
  const std::vector<machine::RankFacts>& ranks = evidence.facts.ranks.machine;
  return evidence.gpu_pair == proof::GpuPair::same_gpu &&
         !std::all_of(ranks.begin(), ranks.end(), [](const auto& rank) { return rank.under_mps; });
}

std::optional<std::string> taken_for(const Evidence& evidence, Memory memory, Distance distance) {
  // peer needs no host, which saves more than the time of one exchange shows.
  const PathResult* peer = result_of(evidence, {"peer", memory, distance});
  const bool in_turns = kernels_take_turns(evidence);
  if (peer != nullptr && peer->outcome == Outcome::works && !in_turns) return "peer";
  constexpr std::int64_t halo_bytes = 64 << 10;
  std::optional<std::string> best;
  double least = 0;
  for (const PathResult& result : evidence.paths) {
    const std::optional<double> us = us_for(result, halo_bytes);
    if (result.path != Path{result.path.transport, memory, distance} ||
        result.outcome != Outcome::works || !result.with.empty() || !us ||
        library_of(result.path) != nullptr || (best && *us >= least) ||
        (in_turns && result.path.transport == "peer"))
      continue;
    best = result.path.transport;
    least = *us;
  }
  return best;
}

const PathResult* fixed_gpu_aware(const Evidence& evidence) {
  constexpr std::int64_t halo_bytes = 64 << 10;
  const Path path{"gpu_aware", Memory::device};
  const PathResult* as_is = result_of(evidence, path);
  const bool works_anyway = as_is != nullptr && as_is->outcome == Outcome::works;
  for (const PathResult& result : evidence.paths) {
    if (result.path != path || result.with.empty() || result.outcome != Outcome::works) continue;
    if (!works_anyway) return &result;
    const std::optional<double> before = us_for(*as_is, halo_bytes);
    const std::optional<double> now = us_for(result, halo_bytes);
    if (before && now && *before > 1.5 * *now) return &result;
  }
  return nullptr;
}

Variables fix_settings(const Evidence& evidence) {
  const PathResult* fixed = fixed_gpu_aware(evidence);
  return fixed != nullptr ? fixed->with : Variables{};
}

std::optional<Variables> settings_that_work(const Evidence& evidence) {
  for (const PathResult& result : evidence.paths)
    if (result.path == Path{"gpu_aware", Memory::device, result.path.distance} &&
        result.outcome == Outcome::works)
      return result.with;
  return std::nullopt;
}

std::vector<Finding> findings(const Evidence& evidence) {
  std::vector<Finding> all;
  for (const auto rule : rules::all)
    for (Finding& finding : rule(evidence)) all.push_back(std::move(finding));
  std::vector<Finding> sorted;
  add_findings(sorted, std::move(all));
  return sorted;
}

void add_findings(std::vector<Finding>& found, std::vector<Finding> more) {
  for (Finding& finding : more) found.push_back(std::move(finding));
  std::stable_sort(found.begin(), found.end(),
                   [](const Finding& a, const Finding& b) { return a.severity < b.severity; });
}

Verdict verdict(const Evidence& evidence, const std::vector<Finding>& found,
                Strictness strictness) {
  const auto any = [&](Severity severity) {
    return std::any_of(found.begin(), found.end(),
                       [&](const Finding& finding) { return finding.severity == severity; });
  };
  if (any(Severity::broken) || any(Severity::slow)) return Verdict::problems;
  if (any(Severity::untested)) return Verdict::untested;
  if (strictness == Strictness::lenient) return Verdict::fine;
  const auto all_work = [](const std::vector<PathResult>& results) {
    return std::all_of(results.begin(), results.end(), [](const PathResult& result) {
      return !result.with.empty() || result.outcome == Outcome::works || !is_expected(result);
    });
  };
  return any(Severity::absent) || !all_work(evidence.paths) || !all_work(evidence.collectives)
             ? Verdict::incomplete
             : Verdict::fine;
}

}  // namespace halocline::doctor
