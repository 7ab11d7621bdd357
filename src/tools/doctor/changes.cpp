// SPDX-License-Identifier: Apache-2.0
#include "doctor/changes.hpp"

#include <map>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/json_text.hpp"

namespace halocline::doctor {
namespace {

using Json = nlohmann::json;

constexpr auto nothing = "nothing";

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

/// Every plain value and list of a tree under its name: "facts.limits.memlock_bytes".
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
  // Reports of earlier versions have none.
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

/// The size whose time changed most, if it changed by half or more.
void compare_times(const std::string& name, const Json& before, const Json& now,
                   std::vector<Change>& changes) {
  double most = 1.5;
  Change change;
  for (const Json& old_time : before.at("us"))
    for (const Json& new_time : now.at("us")) {
      if (old_time.at(0) != new_time.at(0)) continue;
      const double was = old_time.at(1), is = new_time.at(1);
      const double ratio = was > is ? was / is : is / was;
      if (ratio < most) continue;
      most = ratio;
      change = {fmt::format("time of {} bytes by {}", old_time.at(0).get<std::int64_t>(), name),
                fmt::format("{:.4g} us", was), fmt::format("{:.4g} us", is)};
    }
  if (!change.what.empty()) changes.push_back(change);
}

void compare_paths(const Json& before, const Json& now, std::vector<Change>& changes) {
  const auto earlier = paths_of(before), later = paths_of(now);
  const auto outcome = [](const Json& path) { return text_of(path.at("outcome")); };
  for (const auto& [name, path] : earlier) {
    const auto found = later.find(name);
    if (found == later.end()) {
      changes.push_back({"path " + name, outcome(path), nothing});
    } else if (outcome(path) != outcome(found->second)) {
      changes.push_back({"path " + name, outcome(path), outcome(found->second)});
    } else {
      compare_times(name, path, found->second, changes);
    }
  }
  for (const auto& [name, path] : later)
    if (!earlier.contains(name)) changes.push_back({"path " + name, nothing, outcome(path)});
}

std::map<std::string, std::string> findings_of(const Json& report) {
  std::map<std::string, std::string> found;
  for (const Json& finding : report.at("findings"))
    found["finding: " + text_of(finding.at("what"))] = text_of(finding.at("severity"));
  return found;
}

}  // namespace

std::vector<Change> changes(std::string_view before, std::string_view now,
                            const std::string& before_is) {
  std::vector<Change> all;
  const Json later = Json::parse(now);
  try {
    const Json earlier(parse_json(before));
    std::map<std::string, std::string> old_facts, new_facts;
    flatten(earlier.at("facts"), "", old_facts);
    flatten(later.at("facts"), "", new_facts);
    compare_maps(old_facts, new_facts, all);
    compare_paths(earlier, later, all);
    compare_maps(findings_of(earlier), findings_of(later), all);
  } catch (const Json::exception&) {
    throw Error(ErrorKind::usage,
                fmt::format("'{}' is not a doctor report; --save FILE writes one", before_is));
  }
  return all;
}

}  // namespace halocline::doctor
