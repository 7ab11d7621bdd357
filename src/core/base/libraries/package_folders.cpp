// SPDX-License-Identifier: Apache-2.0
#include "base/libraries/package_folders.hpp"

#include <algorithm>
#include <sstream>
#include <system_error>

#include "base/files/small_files.hpp"
#include "base/libraries/find_program.hpp"

namespace halocline {
namespace {

namespace fs = std::filesystem;

/// Folders that Python was, or would be, installed below.
std::vector<fs::path> prefixes(const Variables& variables, const fs::path& root) {
  std::vector<fs::path> all;
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (const std::string folder = value_of(variables, name); !folder.empty())
      all.emplace_back(folder);
  if (const std::string home = value_of(variables, "HOME"); !home.empty())
    all.push_back(fs::path(home) / ".local");
  // Not only the first: mpirun puts its own folder in front of PATH for its ranks (Open MPI 4.1.6
  // of Ubuntu), which must find what the command has found.
  for (const fs::path python : find_programs("python3", variables)) {
    // An environment's is a link to the one that it was made with, whose packages it may use too.
    std::error_code ignored;
    all.push_back(python.parent_path().parent_path());
    all.push_back(fs::canonical(python, ignored).parent_path().parent_path());
  }
  all.push_back(root / "usr/local");
  all.push_back(root / "usr");
  return all;
}

/// Installations of NVIDIA's HPC SDK, the chosen one first.
std::vector<fs::path> sdks(const Variables& variables, const fs::path& root) {
  std::vector<fs::path> all;
  if (const std::string chosen = value_of(variables, "NVHPC_ROOT"); !chosen.empty())
    all.emplace_back(chosen);
  for (const fs::path& machine : entries_of(root / "opt/nvidia/hpc_sdk"))
    for (const fs::path& version : entries_of(machine)) all.push_back(version);
  return all;
}

}  // namespace

std::vector<fs::path> python_packages(const Variables& variables, const fs::path& root) {
  std::vector<fs::path> folders;
  std::error_code ignored;
  const auto add = [&](const fs::path& folder) {
    if (fs::is_directory(folder, ignored) &&
        std::find(folders.begin(), folders.end(), folder) == folders.end())
      folders.push_back(folder);
  };
  std::istringstream named(value_of(variables, "PYTHONPATH"));
  for (std::string folder; std::getline(named, folder, ':');)
    if (!folder.empty()) add(folder);
  for (const fs::path& prefix : prefixes(variables, root))
    for (const char* lib : {"lib", "lib64"})
      for (const fs::path& python : entries_of(prefix / lib)) {
        // Debian's own have their packages in "python3", all others in "python3.12".
        if (!python.filename().native().starts_with("python3")) continue;
        add(python / "site-packages");
        add(python / "dist-packages");
      }
  return folders;
}

fs::path path_in_packages(const PackagedFile& file, const Variables& variables,
                          const fs::path& root) {
  std::vector<fs::path> folders;
  if (*file.wheel != '\0')
    for (const fs::path& packages : python_packages(variables, root))
      folders.push_back(packages / file.wheel);
  // Environments of conda have libraries of all languages in one folder.
  if (const std::string conda = value_of(variables, "CONDA_PREFIX"); !conda.empty())
    folders.push_back(fs::path(conda) / "lib");
  if (*file.sdk != '\0')
    for (const fs::path& sdk : sdks(variables, root))
      folders.push_back(sdk / "comm_libs" / file.sdk);
  std::error_code ignored;
  for (const fs::path& folder : folders)
    if (fs::exists(folder / file.name, ignored)) return folder / file.name;
  return {};
}

}  // namespace halocline
