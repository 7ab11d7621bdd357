// SPDX-License-Identifier: Apache-2.0
#pragma once
// Files that MPI leaves behind if a launcher is killed before it cleans up.

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "base/process/variables.hpp"
#include "launch/process_tree.hpp"

namespace halocline {

/// Shared memory files and session folders of one job on this node.
class StaleFiles {
 public:
  /// Records the files of processes of the job, which must be alive or not reaped yet. `variables`
  /// name the folder for temporary files.
  void note(const std::vector<Process>& processes, const Variables& variables);
  /// Removes remaining files. To be called when the processes are gone.
  void remove() const;

 private:
  std::set<std::string> jobs_;
  std::set<std::filesystem::path> files_, folders_;
};

}  // namespace halocline
