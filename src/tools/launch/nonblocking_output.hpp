// SPDX-License-Identifier: Apache-2.0
#pragma once
// Our standard output or error, written to without ever waiting for its reader.

#include <cstddef>
#include <string>
#include <string_view>

#include "base/files/descriptor.hpp"

namespace halocline {

/// Buffers what the reader does not take yet. Sets no flag on the descriptor, which other programs
/// share: it opens a pipe or terminal once more, for itself.
class NonblockingOutput {
 public:
  NonblockingOutput() = default;
  /// `descriptor` stays the caller's.
  explicit NonblockingOutput(int descriptor);

  bool is_open() const { return descriptor_ >= 0; }
  /// True if something waits for the reader.
  bool is_waiting() const { return !waiting_.empty(); }
  /// True if so much waits that no more should be put in.
  bool is_full() const { return waiting_.size() >= most_waiting; }
  /// Returns the errno after which nobody took any more, or 0.
  int error() const { return error_; }
  /// Returns what to poll for POLLOUT; -1 if nothing waits.
  int descriptor_to_poll() const { return is_waiting() ? writable() : -1; }

  /// Writes what is taken at once, and keeps the rest.
  void put(std::string_view text);
  /// Writes more of what waits.
  void flush();

 private:
  static constexpr std::size_t most_waiting = 1 << 16;
  enum class Kind { never_blocks, asked_first, socket };

  int writable() const { return own_.get() >= 0 ? own_.get() : descriptor_; }
  long write_some(std::string_view text) const;

  int descriptor_ = -1;
  Descriptor own_;
  Kind kind_ = Kind::never_blocks;
  std::string waiting_;
  int error_ = 0;
};

}  // namespace halocline
