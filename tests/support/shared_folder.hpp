// SPDX-License-Identifier: Apache-2.0
#pragma once
// A folder for the files of a test, seen by all ranks, which goes with the test.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <halocline/communicator.hpp>

#include "comm/collectives.hpp"

namespace halocline::test {

/// Making and removing one is collective.
class SharedFolder {
 public:
  explicit SharedFolder(const Communicator& communicator) : communicator_(communicator) {
    namespace fs = std::filesystem;
    // In memory if possible: nothing here is to survive, and writing waits for the disk.
    std::string name = fs::exists("/dev/shm") ? "/dev/shm" : fs::temp_directory_path().string();
    name += "/halocline-files-XXXXXX";
    if (communicator.rank() == 0 && ::mkdtemp(name.data()) == nullptr) name.clear();
    path_ = comm::broadcast(communicator, name, 0);
  }
  ~SharedFolder() {
    comm::barrier(communicator_);
    std::error_code ignored;
    if (communicator_.rank() == 0) std::filesystem::remove_all(path_, ignored);
  }
  SharedFolder(const SharedFolder&) = delete;
  SharedFolder& operator=(const SharedFolder&) = delete;

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  Communicator communicator_;
  std::string path_;
};

/// The names in a folder, sorted.
inline std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace halocline::test
