// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes a file such that readers see either the old content or the complete new one.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace halocline {

/// A file written under a temporary name in the target's folder. commit() renames it to the target;
/// without a commit it is removed and the target is unchanged. A target that is not a regular file
/// (a device, a pipe) is written in place, because it must not be replaced. Errors name the target
/// and the system's reason: usage if another path would help, resource for a full or broken disk.
class TemporaryFile {
 public:
  /// Creates an empty file in the folder of `target`, with the target's permissions if it exists.
  explicit TemporaryFile(std::string target);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  /// Returns the path to write to, for parallel file access, which needs a name.
  const std::string& path() const { return path_; }
  /// Appends.
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  /// Flushes to the disk and renames to the target, replacing it. Call it once.
  void commit();

 private:
  enum class Mode { rename, in_place };

  void create_beside_target();

  std::string target_;
  std::string path_;
  Mode mode_ = Mode::rename;
  int descriptor_ = -1;
};

/// Writes a whole file through a TemporaryFile.
void write_text_file(const std::string& path, std::string_view text);

}  // namespace halocline
