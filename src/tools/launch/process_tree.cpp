// SPDX-License-Identifier: Apache-2.0
#include "launch/process_tree.hpp"

#include <signal.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

namespace halocline {
namespace {

struct Entry {
  Process process;
  pid_t parent = 0;
  char state = '?';  ///< Z: dead, and not reaped
};

std::optional<Entry> read_entry(pid_t id) {
  std::ifstream file("/proc/" + std::to_string(id) + "/stat");
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  // proc(5): "id (name) state parent ... start", start being field 22; the name may contain any
  // characters.
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(line.substr(name_end + 1));
  Entry entry{{id, 0}};
  std::string field;
  fields >> entry.state >> entry.parent;
  for (int skipped = 5; skipped < 22; ++skipped) fields >> field;
  fields >> entry.process.start;
  if (!fields) return std::nullopt;
  return entry;
}

std::vector<Entry> all_processes() {
  std::vector<Entry> entries;
  std::error_code ignored;  // processes come and go while we read
  for (std::filesystem::directory_iterator at("/proc", ignored), end; !ignored && at != end;
       at.increment(ignored)) {
    const std::string name = at->path().filename().string();
    pid_t id = 0;
    const auto [rest, error] = std::from_chars(name.data(), name.data() + name.size(), id);
    if (error != std::errc() || rest != name.data() + name.size()) continue;
    if (const auto entry = read_entry(id)) entries.push_back(*entry);
  }
  return entries;
}

}  // namespace

std::vector<Process> descendants_of(pid_t root) {
  const std::vector<Entry> entries = all_processes();
  std::vector<Process> found;
  std::vector<pid_t> parents{root};
  while (!parents.empty()) {
    const pid_t parent = parents.back();
    parents.pop_back();
    for (const Entry& entry : entries) {
      if (entry.parent != parent) continue;
      found.push_back(entry.process);
      parents.push_back(entry.process.id);
    }
  }
  return found;
}

std::vector<Process> living(const std::vector<Process>& processes) {
  std::vector<Process> found;
  for (const Process& process : processes) {
    const auto now = read_entry(process.id);
    if (now && now->process.start == process.start && now->state != 'Z') found.push_back(process);
  }
  return found;
}

void signal_all(const std::vector<Process>& processes, int signal) {
  for (const Process& process : processes) {
    const auto now = read_entry(process.id);
    if (now && now->process.start == process.start) ::kill(process.id, signal);
  }
}

void kill_all(const std::vector<Process>& processes) { signal_all(processes, SIGKILL); }

}  // namespace halocline
