// SPDX-License-Identifier: Apache-2.0
#pragma once
// A thread that goes on only while the one that hired it waits for it: threads have thread_local
// variables of their own, fibers have not.

#include <condition_variable>
#include <functional>
#include <mutex>

namespace cuda_on_cpu {

/// Hired again when it has ended: it keeps the stacks of its fibers, whose making was most of the
/// time of kernels whose blocks wait for each other.
class Helper {
 public:
  using Main = std::function<void(Helper&)>;

  /// One that is idle, or a new one. Begins `main` at the first resume().
  static Helper& hire(Main main);
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;

  /// Lets it go on until it gives way; false once it has ended, and is no longer the caller's.
  bool resume();
  /// Called by the helper itself: lets the other one go on until the next resume().
  void give_way();

 private:
  Helper() = default;
  void serve();
  void pass_to(bool helper);

  std::mutex mutex_;
  std::condition_variable passed_;
  Main main_;  // of whoever hired it; none once it has ended
  bool is_helpers_ = false;
};

}  // namespace cuda_on_cpu
