// SPDX-License-Identifier: Apache-2.0
#pragma once
// A folder that goes with the test, and what is in files.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace halocline::test {

/// All bytes of a file; none if it cannot be read.
inline std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "halocline-test-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  const std::filesystem::path& path() const { return path_; }

  /// Writes a file, and its folders; returns its path.
  std::string put(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << text;
    return *this / name;
  }
  /// Writes a shell script that can be started.
  std::string put_script(const std::string& name, const std::string& text) const {
    const std::string path = put(name, "#!/bin/sh\n" + text);
    std::filesystem::permissions(path, std::filesystem::perms(0755));
    return path;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace halocline::test
