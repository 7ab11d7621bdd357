// SPDX-License-Identifier: Apache-2.0
#pragma once
// Folders of libraries that the loader does not search: those of Python packages, of conda
// environments and of NVIDIA's HPC SDK.

#include <filesystem>
#include <vector>

#include "base/process/variables.hpp"

namespace halocline {

/// Returns the folders of Python's packages that there are, without starting it: those that
/// PYTHONPATH names, of the active environment, the user's own, of every python3 on PATH, and
/// the system's. `root` is put before the last.
std::vector<std::filesystem::path> python_packages(const Variables& variables,
                                                   const std::filesystem::path& root = "/");

/// A library's file, and where packages keep it below their own folder.
struct PackagedFile {
  const char* name;   ///< "libnccl.so.2"
  const char* wheel;  ///< "nvidia/nccl/lib"; empty if no wheel has it
  const char* sdk;    ///< of the HPC SDK, below comm_libs; empty if it is not there
};

/// Returns where a file lies; empty if in none of these places.
std::filesystem::path path_in_packages(const PackagedFile& file, const Variables& variables,
                                       const std::filesystem::path& root = "/");

}  // namespace halocline
