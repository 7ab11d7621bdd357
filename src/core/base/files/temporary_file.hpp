// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes a file such that readers see either the old content or the complete new one.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <halocline/error.hpp>

#include "base/files/descriptor.hpp"

namespace halocline {

/// The fallback for a file that cannot be created in its folder.
enum class Otherwise {
  fail,               ///< throws at once
  use_working_folder  ///< it is written to the working folder, and commit() throws with its name
};

/// A file written under a temporary name in the target's folder. commit() renames it to the target;
/// without a commit it is removed and the target is unchanged. A target that is not a regular file
/// (a device, a pipe), or is this process's standard output, is written in place, because it must
/// not be replaced; for the reader of a named pipe the constructor waits up to 10 s. Errors name
/// the target and the system's reason: usage if another path would help, resource for a full or
/// broken disk.
class TemporaryFile {
 public:
  /// Creates an empty file in the folder of `target`, with the target's permissions if it exists.
  explicit TemporaryFile(std::string target, Otherwise otherwise = Otherwise::fail);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  /// Returns the path to write to, for parallel file access, which needs a name.
  const std::string& path() const { return path_; }
  /// Appends.
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  /// Flushes to the disk and renames to the target, replacing it. A complete file that cannot be
  /// renamed is kept, and the error names it. Call it once.
  void commit();

 private:
  void open_target();
  void open_in_place();
  int create(const std::string& before, const std::string& after);

  std::string target_;
  std::string path_;
  bool is_in_place_ = false;
  Descriptor descriptor_;
  int place_ = -1;                     // among the files to remove on a signal
  std::optional<Error> not_in_place_;  // why it cannot become the target
};

/// Whether a TemporaryFile has such a name. In a folder where none is written now, it was left by a
/// killed process.
bool is_temporary_name(std::string_view name);

/// Writes a whole file through a TemporaryFile.
void write_text_file(const std::string& path, std::string_view text,
                     Otherwise otherwise = Otherwise::fail);

/// Throws the usage error that a TemporaryFile for this target would meet now. Opens no pipe or
/// device: the reader of a pipe would see it end.
void check_target(const std::string& target);

/// Removes the temporary files of this process, which is about to end. Async-signal-safe.
void remove_temporary_files() noexcept;

}  // namespace halocline
