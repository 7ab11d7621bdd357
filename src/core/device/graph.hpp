// SPDX-License-Identifier: Apache-2.0
#pragma once
// Work recorded once and launched many times.

#include <functional>
#include <memory>

#include <halocline/stream.hpp>

namespace halocline::device {

/// Kernels and copies in their order, with all their arguments: a launch costs the host a few
/// microseconds whatever is in it, and the GPU less between two kernels than single launches do.
class Graph {
 public:
  /// Calls `work`, which gives `stream` (a GPU's, not the default one) work of which nothing is
  /// done now. It may not wait, allocate, or use streams that are not joined with this one by
  /// events. Throws device.
  static Graph record(Stream stream, const std::function<void()>& work);
  /// Queues all of it.
  void launch(Stream stream) const;

 private:
  std::shared_ptr<void> native_;
};

/// Whether what `stream` is given is being recorded, by us or by the program around us.
bool is_recording(Stream stream);

}  // namespace halocline::device
