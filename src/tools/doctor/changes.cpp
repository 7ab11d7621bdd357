// SPDX-License-Identifier: Apache-2.0
#include "doctor/changes.hpp"

#include <map>
#include <optional>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/text/json_text.hpp"

namespace halocline::doctor {
namespace {

constexpr auto nothing = "nothing";

/// The plain nlohmann::json sorts members by name, so that their order in the file does not matter.
std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : nlohmann::json(value).dump();
}

/// Stores each plain value and list of a tree under its path: "facts.limits.memlock_bytes".
void flatten(const Json& tree, const std::string& name, std::map<std::string, std::string>& flat) {
  if (!tree.is_object()) {
    flat[name] = text_of(tree);
    return;
  }
  for (const auto& [key, value] : tree.items())
    flatten(value, name.empty() ? key : name + "." + key, flat);
}

void compare_maps(const std::map<std::string, std::string>& before,
                  const std::map<std::string, std::string>& now, std::vector<Change>& changes) {
  for (const auto& [name, value] : before) {
    const auto found = now.find(name);
    const std::string later = found == now.end() ? nothing : found->second;
    if (later != value) changes.push_back({name, value, later});
  }
  for (const auto& [name, value] : now)
    if (!before.contains(name)) changes.push_back({name, nothing, value});
}

std::map<std::string, Json> paths_of(const Json& report) {
  std::map<std::string, Json> paths;
  std::vector<Json> all = report.at("paths");
  // Reports of earlier versions have no collectives.
  for (const Json& collective : report.value("collectives", Json::array()))
    all.push_back(collective);
  for (const Json& path : all) {
    const std::string with = text_of(path.at("with"));
    const bool far = path.at("pair") == "other-node";
    paths[fmt::format("{}:{}{}{}", path.at("path").get<std::string>(),
                      path.at("memory").get<std::string>(), far ? " between nodes" : "",
                      with.empty() ? "" : " with " + with)] = path;
  }
  return paths;
}

/// The time of one message size in two reports.
struct TimeChange {
  std::int64_t bytes = 0;
  double before = 0, now = 0;

  double ratio() const { return before > now ? before / now : now / before; }
};

/// Finds the size whose time changed most, or increased most; bytes is 0 if there is none.
enum class Way { either, longer };
TimeChange most_changed(const Json& before, const Json& now, Way way) {
  TimeChange most;
  for (const Json& old_time : before.at("us"))
    for (const Json& new_time : now.at("us")) {
      if (old_time.at(0) != new_time.at(0)) continue;
      const TimeChange change{old_time.at(0), old_time.at(1), new_time.at(1)};
      if (way == Way::longer && change.now <= change.before) continue;
      if (most.bytes == 0 || change.ratio() > most.ratio()) most = change;
    }
  return most;
}

/// Adds the size whose time changed most, if by half or more.
void compare_times(const std::string& name, const Json& before, const Json& now,
                   std::vector<Change>& changes) {
  const TimeChange change = most_changed(before, now, Way::either);
  if (change.bytes == 0 || change.ratio() < 1.5) return;
  changes.push_back({fmt::format("time of {} bytes by {}", change.bytes, name),
                     fmt::format("{:.4g} us", change.before),
                     fmt::format("{:.4g} us", change.now)});
}

std::string outcome_of(const Json& path) { return text_of(path.at("outcome")); }

void compare_paths(const Json& before, const Json& now, std::vector<Change>& changes) {
  const auto earlier = paths_of(before), later = paths_of(now);
  for (const auto& [name, path] : earlier) {
    const auto found = later.find(name);
    if (found == later.end()) {
      changes.push_back({"path " + name, outcome_of(path), nothing});
    } else if (outcome_of(path) != outcome_of(found->second)) {
      changes.push_back({"path " + name, outcome_of(path), outcome_of(found->second)});
    } else {
      compare_times(name, path, found->second, changes);
    }
  }
  for (const auto& [name, path] : later)
    if (!earlier.contains(name)) changes.push_back({"path " + name, nothing, outcome_of(path)});
}

/// Returns a finding if a path fails now or is clearly slower.
std::optional<Finding> setback(const std::string& name, const Json& before, const Json& now,
                               const std::string& before_is) {
  const std::string look = fmt::format("see what else has changed since {}", before_is);
  if (outcome_of(before) == "works" && outcome_of(now) != "works")
    return Finding{Severity::slow, fmt::format("path {} worked once, and no longer does", name),
                   fmt::format("{} in {}, now {}: {}", outcome_of(before), before_is,
                               outcome_of(now), text_of(now.at("how"))),
                   look};
  // Smaller changes may be chance, since other users may load the machine.
  constexpr double clearly = 3;
  const TimeChange change = most_changed(before, now, Way::longer);
  if (change.bytes == 0 || change.ratio() < clearly) return std::nullopt;
  return Finding{Severity::slow,
                 fmt::format("path {} has become {:.1f} times as slow", name, change.ratio()),
                 fmt::format("{} bytes: {:.4g} us in {}, {:.4g} us now", change.bytes,
                             change.before, before_is, change.now),
                 look + "; if other work runs here now (uptime), repeat without it"};
}

std::map<std::string, std::string> findings_of(const Json& report) {
  std::map<std::string, std::string> found;
  for (const Json& finding : report.at("findings"))
    found["finding: " + text_of(finding.at("what"))] = text_of(finding.at("severity"));
  return found;
}

Error no_report(const std::string& name) {
  return {ErrorKind::usage,
          fmt::format("'{}' is not a doctor report; --save FILE writes one", name)};
}

}  // namespace

std::vector<Change> changes(std::string_view before, std::string_view now,
                            const std::string& before_is) {
  std::vector<Change> all;
  try {
    const Json earlier = parse_json(before), later = parse_json(now);
    std::map<std::string, std::string> old_facts, new_facts;
    flatten(earlier.at("facts"), "", old_facts);
    flatten(later.at("facts"), "", new_facts);
    // Differs in every run; a finding reports it if it is too small.
    for (auto* facts : {&old_facts, &new_facts}) facts->erase("limits.temporary_free_bytes");
    compare_maps(old_facts, new_facts, all);
    compare_paths(earlier, later, all);
    compare_maps(findings_of(earlier), findings_of(later), all);
  } catch (const Json::exception&) {
    throw no_report(before_is);
  }
  return all;
}

std::vector<Finding> regressions(std::string_view before, std::string_view now,
                                 const std::string& before_is) {
  std::vector<Finding> found;
  try {
    const auto later = paths_of(Json::parse(now));
    for (const auto& [name, path] : paths_of(Json::parse(before)))
      if (const auto same = later.find(name); same != later.end())
        if (auto one = setback(name, path, same->second, before_is)) found.push_back(*one);
  } catch (const Json::exception&) {
    throw no_report(before_is);
  }
  return found;
}

std::string words_for_change(const std::string& what) {
  static const std::map<std::string, std::string> words{
      {"allowed_cores", "hardware threads that this shell may use"},
      {"built_with_cuda", "built for GPUs"},
      {"claims_gpu", "whether MPI claims to accept GPU memory"},
      {"cores_of_ranks", "cores of ranks"},
      {"direct_reads", "direct copies between processes (CMA)"},
      {"found_libraries", "libraries found"},
      {"gpu_files", "GPUs by their device files"},
      {"limits.container", "container"},
      {"limits.open_files", "limit on open files"},
      {"limits.processes", "limit on processes"},
      {"limits.temporary", "folder for temporary files"},
      {"limits.may_trace", "CAP_SYS_PTRACE"},
      {"limits.memlock_bytes", "limit on locked memory in bytes"},
      {"limits.ptrace_scope", "kernel.yama.ptrace_scope"},
      {"limits.shm_bytes", "size of /dev/shm in bytes"},
      {"mpi", "MPI"},
      {"online_threads", "hardware threads online"},
      {"peer_access", "GPUs that reach each other's memory"},
      {"usable_cores", "cores that this shell may use"}};
  if (const auto found = words.find(what); found != words.end()) return found->second;
  // Names of changed paths, times and findings are sentences already.
  if (what.find(' ') != std::string::npos) return what;
  const auto after = [&](std::string_view start) { return what.substr(start.size()); };
  if (what.starts_with("settings.")) return "variable " + after("settings.");
  if (what.starts_with("mpi_settings.")) return "MPI's parameter " + after("mpi_settings.");
  std::string plain;
  for (const char c : what) plain += c == '_' ? " " : c == '.' ? ": " : std::string(1, c);
  return plain;
}

}  // namespace halocline::doctor
