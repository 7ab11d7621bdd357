// SPDX-License-Identifier: Apache-2.0
#include "launch/leftovers.hpp"

#include <algorithm>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include <fmt/core.h>

#include "base/small_files.hpp"

namespace halocline {
namespace {

namespace fs = std::filesystem;

/// How MPIs and UCX name their files in /dev/shm.
constexpr std::string_view names_in_shared_memory[] = {"vader_segment.", "sm_segment.", "osc_sm.",
                                                       "osc_rdma.",      "mpich_",      "ucx_shm_"};

bool is_mpis(const fs::path& path) {
  const std::string name = path.filename().string();
  return path.parent_path() == "/dev/shm" &&
         std::any_of(std::begin(names_in_shared_memory), std::end(names_in_shared_memory),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

/// Lists the files that a process has mapped.
std::set<fs::path> mapped_by(pid_t process) {
  std::set<fs::path> files;
  std::ifstream maps(fmt::format("/proc/{}/maps", process));
  for (std::string line; std::getline(maps, line);) {
    const std::size_t at = line.find('/');
    if (at != std::string::npos) files.insert(line.substr(at));
  }
  return files;
}

/// Returns the folders that launchers of Open MPI 4 and 5 make for a session below `temporary`:
/// ompi.NODE.USER/pid.PROCESS, prte.NODE.PROCESS.USER.
void add_sessions(const fs::path& temporary, const std::set<pid_t>& processes,
                  std::set<fs::path>& folders) {
  for (const fs::path& entry : entries_of(temporary)) {
    const std::string name = entry.filename().string();
    for (const pid_t process : processes) {
      const fs::path session = entry / fmt::format("pid.{}", process);
      std::error_code ignored;
      if (name.starts_with("ompi.") && fs::is_directory(session, ignored)) folders.insert(session);
      if (name.starts_with("prte.") && name.find(fmt::format(".{}.", process)) != std::string::npos)
        folders.insert(entry);
    }
  }
}

}  // namespace

void Leftovers::note(const std::vector<Process>& processes, const Variables& variables) {
  std::set<pid_t> ids;
  for (const Process& process : processes) {
    ids.insert(process.id);
    for (const fs::path& file : mapped_by(process.id))
      if (is_mpis(file)) files_.insert(file);
  }
  std::set<fs::path> temporary{"/tmp"};
  for (const char* name : {"TMPDIR", "TEMP", "TMP"})
    if (const auto found = variables.find(name); found != variables.end() && !found->second.empty())
      temporary.insert(found->second);
  for (const fs::path& folder : temporary) add_sessions(folder, ids, folders_);
}

void Leftovers::remove() const {
  std::error_code ignored;
  for (const fs::path& file : files_) fs::remove(file, ignored);
  for (const fs::path& folder : folders_) {
    fs::remove_all(folder, ignored);
    // Open MPI's folder of this user and node, if no other session is in it.
    if (folder.filename().string().starts_with("pid.")) fs::remove(folder.parent_path(), ignored);
  }
}

}  // namespace halocline
