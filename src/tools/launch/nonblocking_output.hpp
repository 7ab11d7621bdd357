// SPDX-License-Identifier: Apache-2.0
#pragma once
// Standard output or error, written without waiting for the reader.

#include <cstddef>
#include <string>
#include <string_view>

#include "base/files/descriptor.hpp"

namespace halocline {

/// Buffers text that the reader does not take yet. Opens a pipe or terminal again to write to it,
/// since O_NONBLOCK on the descriptor would affect other programs that share it.
class NonblockingOutput {
 public:
  NonblockingOutput() = default;
  /// The caller keeps the ownership of `descriptor`.
  explicit NonblockingOutput(int descriptor);

  bool is_open() const { return descriptor_ >= 0; }
  /// True if text is buffered.
  bool is_waiting() const { return !waiting_.empty(); }
  /// True if so much is buffered that no more should be added.
  bool is_full() const { return waiting_.size() >= most_waiting; }
  /// Returns the errno that ended the output, or 0.
  int error() const { return error_; }
  /// Returns the descriptor to poll for POLLOUT; -1 if nothing is buffered.
  int descriptor_to_poll() const { return is_waiting() ? writable() : -1; }

  /// Writes as much as possible without waiting, and buffers the rest.
  void put(std::string_view text);
  /// Writes more of the buffer.
  void flush();

 private:
  static constexpr std::size_t most_waiting = 1 << 16;
  enum class Kind { never_blocks, polled_first, socket };

  int writable() const { return own_.get() >= 0 ? own_.get() : descriptor_; }
  long write_some(std::string_view text) const;

  int descriptor_ = -1;
  Descriptor own_;
  Kind kind_ = Kind::never_blocks;
  std::string waiting_;
  int error_ = 0;
};

}  // namespace halocline
