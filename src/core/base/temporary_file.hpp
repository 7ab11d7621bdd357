// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writing a file so that readers see the old content or the whole new one, never a part.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace halocline {

/// Stands for a file being written under another name in the target's folder, and takes the
/// target's place on commit(); without a commit it is removed and the target stays as it was.
/// A target that is no regular file (a device, a pipe) is written in place: it must not be
/// replaced. Errors name the target and the system's reason: usage for what another path would
/// fix, resource for a full or broken disk.
class TemporaryFile {
 public:
  /// Creates an empty file beside `target`, with the target's permissions if it exists.
  explicit TemporaryFile(std::string target);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  /// Returns where to write by name, as parallel file access has to.
  const std::string& path() const { return path_; }
  /// Appends.
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  /// Flushes to the disk and renames onto the target, replacing it. Call it once.
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
