// SPDX-License-Identifier: Apache-2.0
#include "launch/stale_files.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>

#include <fmt/core.h>

#include "base/files/small_files.hpp"
#include "base/process/host_name.hpp"

namespace halocline {
namespace {

namespace fs = std::filesystem;

constexpr const char* shared_memory = "/dev/shm";

/// Names of files of MPI libraries and UCX in /dev/shm.
constexpr std::string_view names_in_shared_memory[] = {"vader_segment.", "sm_segment.", "osc_sm.",
                                                       "osc_rdma.",      "mpich_",      "ucx_shm_"};

bool is_mpis(const fs::path& path) {
  const std::string name = path.filename().string();
  return path.parent_path() == shared_memory &&
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

/// Returns the job number of a rank in the form of Open MPI 4's file names, "b7ad0001"; empty if
/// there is none.
std::string job_of(pid_t process) {
  constexpr std::string_view name = "PMIX_NAMESPACE=";
  std::ifstream variables(fmt::format("/proc/{}/environ", process));
  for (std::string variable; std::getline(variables, variable, '\0');) {
    if (!variable.starts_with(name)) continue;
    std::uint32_t number = 0;
    const char* const end = variable.data() + variable.size();
    const auto [rest, error] = std::from_chars(variable.data() + name.size(), end, number);
    if (error == std::errc() && rest == end) return fmt::format("{:x}", number);
  }
  return "";
}

/// Returns whether a file is of one of the jobs: "vader_segment.vm.0.b7ad0001.1" of "b7ad0001".
bool is_of_job(const fs::path& path, const std::set<std::string>& jobs) {
  std::istringstream name(path.filename().string());
  for (std::string part; std::getline(name, part, '.');)
    if (jobs.contains(part)) return true;
  return false;
}

/// Adds the session folders of Open MPI 4 and 5 below `temporary`, which nodes and containers may
/// share: ompi.NODE.USER/pid.PROCESS, prte.NODE.PROCESS.USER.
void add_sessions(const fs::path& temporary, const std::set<pid_t>& processes,
                  std::set<fs::path>& folders) {
  std::string node = host_name();
  node.resize(std::min(node.find('.'), node.size()));
  for (const fs::path& entry : entries_of(temporary)) {
    const std::string name = entry.filename().string();
    if (!name.starts_with("ompi." + node + '.') && !name.starts_with("prte." + node + '.'))
      continue;
    for (const pid_t process : processes) {
      const fs::path session = entry / fmt::format("pid.{}", process);
      std::error_code ignored;
      if (name.starts_with("ompi.") && fs::is_directory(session, ignored)) folders.insert(session);
      if (name.starts_with("prte.") && name.find(fmt::format(".{}.", process)) != std::string::npos)
        folders.insert(entry);
    }
  }
}

/// Returns the folders in which launchers create session folders.
std::set<fs::path> temporary_folders(const Variables& variables) {
  std::set<fs::path> folders{"/tmp"};
  for (const char* name : {"TMPDIR", "TEMP", "TMP"})
    if (const std::string folder = value_of(variables, name); !folder.empty())
      folders.insert(folder);
  return folders;
}

}  // namespace

void StaleFiles::note(const std::vector<Process>& processes, const Variables& variables) {
  std::set<pid_t> ids;
  for (const Process& process : processes) {
    ids.insert(process.id);
    if (const std::string job = job_of(process.id); !job.empty()) jobs_.insert(job);
    for (const fs::path& file : mapped_by(process.id))
      if (is_mpis(file)) files_.insert(file);
  }
  for (const fs::path& folder : temporary_folders(variables)) add_sessions(folder, ids, folders_);
}

void StaleFiles::remove() const {
  std::error_code ignored;
  for (const fs::path& file : files_) fs::remove(file, ignored);
  // Including files created after the last note().
  for (const fs::path& file : entries_of(shared_memory))
    if (is_mpis(file) && is_of_job(file, jobs_)) fs::remove(file, ignored);
  for (const fs::path& folder : folders_) {
    fs::remove_all(folder, ignored);
    // Open MPI's folder of a user and node, if no other session is in it.
    if (folder.filename().string().starts_with("pid.")) ::rmdir(folder.parent_path().c_str());
  }
}

}  // namespace halocline
