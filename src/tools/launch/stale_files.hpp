// SPDX-License-Identifier: Apache-2.0
#pragma once
// What MPI leaves in the file system when a launcher is killed before it has tidied up.

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "base/process/variables.hpp"
#include "launch/process_tree.hpp"

namespace halocline {

/// Files of shared memory and session folders of one job on this node.
class StaleFiles {
 public:
  /// Notes what living processes of the job use, or one that is not reaped yet. `variables` name
  /// the folder for temporary files.
  void note(const std::vector<Process>& processes, const Variables& variables);
  /// Removes what is still there. To be called when the processes are gone.
  void remove() const;

 private:
  std::set<std::string> jobs_;
  std::set<std::filesystem::path> files_, folders_;
};

}  // namespace halocline
