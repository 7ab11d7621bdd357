// SPDX-License-Identifier: Apache-2.0
#pragma once
// Streams, events and copies: one set of words for the host, where work is done at once, and for
// GPUs, where it is queued.

#include <cstddef>
#include <cstdint>
#include <memory>

#include <halocline/stream.hpp>

namespace halocline::device {

enum class Priority { normal, high };

/// A stream of the current GPU, owned.
class OwnedStream {
 public:
  explicit OwnedStream(Priority priority = Priority::normal);
  Stream get() const { return Stream::cuda(native_.get()); }

 private:
  std::shared_ptr<void> native_;
};

/// A point in a stream. On the host stream, and before it is recorded, it is reached.
class Event {
 public:
  /// Marks the end of what `stream` was given so far.
  void record(Stream stream);
  /// Does not block. Throws device if the work before it failed.
  bool reached() const;
  /// Blocks the host until it is reached. Throws device if the work before it failed.
  void wait() const;
  /// Lets later work on `stream` begin only then.
  void hold(Stream stream) const;

 private:
  std::shared_ptr<void> native_;  // null until first recorded on a GPU's stream
  bool recorded_ = false;
};

/// Work beside that of a stream, and before it where both want the same multiprocessors. For work
/// that others wait for; recorded in a graph with that of the stream.
class Branch {
 public:
  /// Where work is queued that begins when `trunk` has done what it was given so far.
  Stream fork(Stream trunk);
  /// Lets later work on `trunk` begin only when that of the branch is done. Work that was forked
  /// must be joined.
  void join(Stream trunk);

 private:
  OwnedStream stream_{Priority::high};
  Event forked_, joined_;
};

/// Blocks the host until all work of `stream` is done. Throws device if some failed.
void synchronize(Stream stream);

/// Blocks the host until all work of the current GPU is done, whichever stream it is on: before
/// memory is taken from kernels of which only others know the stream. Throws device if some failed.
void finish_all();

/// Copies between memories of any kinds. On the host stream the copy is done on return, also
/// to and from a GPU. On a GPU's stream the host waits for a copy to ordinary host memory, and
/// reads what is copied from such memory at once, whatever the stream has still to do before.
void copy(void* to, const void* from, std::int64_t bytes, Stream stream);

/// Rows of bytes at equal distances.
struct Rows {
  std::int64_t bytes;  ///< of each row
  std::int64_t count;
  std::int64_t to_stride, from_stride;  ///< in bytes
};
void copy_rows(void* to, const void* from, const Rows& rows, Stream stream);

/// Sets bytes to zero.
void clear(void* memory, std::int64_t bytes, Stream stream);

}  // namespace halocline::device
