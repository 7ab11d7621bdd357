// SPDX-License-Identifier: Apache-2.0
#pragma once
// Streams, events and copies: one interface for the host, where work is done at once, and for GPUs,
// where it is queued.

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

/// A point in a stream. On the host's stream, and before it is recorded, it counts as reached.
class Event {
 public:
  /// Marks the end of all work queued on `stream` so far.
  void record(Stream stream);
  /// Does not block. Throws device if the work before it failed.
  bool reached() const;
  /// Blocks the host until the event is reached. Throws device if the work before it failed.
  void wait() const;
  /// Makes later work on `stream` wait for the event.
  void hold(Stream stream) const;

 private:
  std::shared_ptr<void> native_;  // null until first recorded on a GPU's stream
  bool recorded_ = false;
};

/// Work concurrent with that of a stream, with priority on the same multiprocessors. For work that
/// others wait for; a graph that records the stream records it too.
class Branch {
 public:
  /// Returns a stream whose work begins when all work queued on `trunk` so far is done.
  Stream fork(Stream trunk);
  /// Returns that stream.
  Stream get() const { return stream_.get(); }
  /// Makes later work on `trunk` wait for the branch. Every fork must be joined.
  void join(Stream trunk);

 private:
  OwnedStream stream_{Priority::high};
  Event forked_, joined_;
};

/// Blocks the host until all work of `stream` is done. Throws device if some failed.
void synchronize(Stream stream);

/// Blocks the host until all work of the current GPU is done, on all streams: for releasing memory
/// of kernels whose stream is not known here. Throws device if some work failed.
void finish_all();

/// Copies between memories of any kinds. On the host's stream the copy is done on return, also to
/// and from a GPU. On a GPU's stream the host waits for a copy to ordinary host memory, and reads
/// the source of a copy from such memory at once, before earlier work of the stream is done.
void copy(void* to, const void* from, std::int64_t bytes, Stream stream);

/// Rows of bytes with constant strides.
struct Rows {
  std::int64_t bytes;  ///< of each row
  std::int64_t count;
  std::int64_t to_stride, from_stride;  ///< in bytes
};
void copy_rows(void* to, const void* from, const Rows& rows, Stream stream);

/// Sets bytes to zero.
void clear(void* memory, std::int64_t bytes, Stream stream);

}  // namespace halocline::device
