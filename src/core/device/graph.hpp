// SPDX-License-Identifier: Apache-2.0
#pragma once
// Work that is recorded once and launched many times.

#include <functional>
#include <memory>

#include <halocline/stream.hpp>

namespace halocline::device {

/// Kernels and copies in order, with all their arguments. A launch costs the host a few
/// microseconds for any content, and the GPU less between two kernels than separate launches.
class Graph {
 public:
  /// Calls `work`, which queues work on `stream` (a GPU's, not the default one); the work is
  /// recorded, not done. It must not wait, allocate, or use streams that are not joined with this
  /// one by events. Throws device.
  static Graph record(Stream stream, const std::function<void()>& work);
  /// Queues all recorded work.
  void launch(Stream stream) const;

 private:
  std::shared_ptr<void> native_;
};

/// Returns whether work on `stream` is being recorded, by us or by the program.
bool is_recording(Stream stream);

}  // namespace halocline::device
