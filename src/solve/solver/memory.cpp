// SPDX-License-Identifier: Apache-2.0
#include "solver/memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <vector>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/pages.hpp"

namespace halocline::solver {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();

/// A number in a file of one word; `unlimited` for "max" or a missing file.
std::int64_t single_number(const fs::path& path) {
  std::ifstream file(path);
  std::int64_t number = unlimited;
  return file >> number ? number : unlimited;
}

/// The number behind a word, in a file with one such pair per line.
std::optional<std::int64_t> number_after(const fs::path& path, const std::string& key) {
  std::ifstream file(path);
  std::string name, rest;
  std::int64_t value = 0;
  while (file >> name >> value) {
    if (name == key) return value;
    std::getline(file, rest);
  }
  return std::nullopt;
}

/// The names that a version of control groups gives to its files.
struct Hierarchy {
  fs::path mount;
  fs::path group;  ///< of this process, below the mount
  const char *limit, *usage, *inactive_files, *active_files;
};

/// A line of /proc/self/cgroup is "NUMBER:CONTROLLERS:PATH"; version 2 has no controllers.
std::vector<Hierarchy> hierarchies_of(const MemoryPlaces& places) {
  const fs::path root(places.control_groups);
  std::vector<Hierarchy> found;
  std::ifstream file(fs::path(places.processes) / "self" / "cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const fs::path group = fs::path(line.substr(second + 1)).relative_path();
    std::error_code ignored;
    if (controllers == ",,")
      found.push_back({fs::exists(root / "unified", ignored) ? root / "unified" : root, group,
                       "memory.max", "memory.current", "inactive_file", "active_file"});
    else if (controllers.find(",memory,") != controllers.npos)
      found.push_back({root / "memory", group, "memory.limit_in_bytes", "memory.usage_in_bytes",
                       "total_inactive_file", "total_active_file"});
  }
  return found;
}

/// Lowers `memory` to what a group leaves.
void apply(NodeMemory& memory, const Hierarchy& hierarchy, const fs::path& folder) {
  const std::int64_t limit = single_number(folder / hierarchy.limit);
  if (limit == unlimited) return;
  std::int64_t used = single_number(folder / hierarchy.usage);
  if (used == unlimited) used = 0;
  for (const char* files : {hierarchy.inactive_files, hierarchy.active_files})
    used -= number_after(folder / "memory.stat", files).value_or(0);
  const std::int64_t left = std::max<std::int64_t>(0, limit - std::max<std::int64_t>(0, used));
  if (left < memory.available_bytes) {
    memory.available_bytes = left;
    memory.of_control_group = true;
  }
  memory.total_bytes = std::min(memory.total_bytes, limit);
}

}  // namespace

NodeMemory node_memory(const MemoryPlaces& places) {
  const std::int64_t physical = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * page_bytes();
  const auto available = number_after(fs::path(places.processes) / "meminfo", "MemAvailable:");
  NodeMemory memory{available ? std::min(physical, *available * 1024) : physical, physical};
  for (const Hierarchy& hierarchy : hierarchies_of(places)) {
    // A container sees the path that its group has outside, where only the mount itself is there.
    for (fs::path group = hierarchy.group; !group.empty(); group = group.parent_path())
      apply(memory, hierarchy, hierarchy.mount / group);
    apply(memory, hierarchy, hierarchy.mount);
  }
  return memory;
}

void require_memory(const Communicator& communicator, const HostNeed& need) {
  const NodeMemory memory = node_memory();
  const int ranks = communicator.node_size();
  const double wanted = static_cast<double>(need.bytes_per_rank) * ranks;
  if (wanted <= static_cast<double>(memory.available_bytes)) return;
  const auto gibibytes = [](double bytes) { return fmt::format("{:.3g} GiB", bytes / (1 << 30)); };
  throw Error(ErrorKind::resource,
              fmt::format("{} take {} on this node, which has {} free of {}{}; {}", need.what,
                          gibibytes(wanted), gibibytes(static_cast<double>(memory.available_bytes)),
                          gibibytes(static_cast<double>(memory.total_bytes)),
                          memory.of_control_group ? " (the limit of a container or batch job)" : "",
                          need.advice));
}

}  // namespace halocline::solver
