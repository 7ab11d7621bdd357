// SPDX-License-Identifier: Apache-2.0
#include "turn.hpp"

namespace cuda_on_cpu {

void Turn::lock() {
  std::unique_lock lock(mutex_);
  if (depth_ > 0 && holder_ == std::this_thread::get_id()) {
    ++depth_;
    return;
  }
  const std::uint64_t mine = next_++;
  passed_on_.wait(lock, [&] { return served_ == mine; });
  holder_ = std::this_thread::get_id();
  depth_ = 1;
}

void Turn::unlock() {
  const std::lock_guard lock(mutex_);
  if (--depth_ > 0) return;
  ++served_;
  if (next_ != served_) passed_on_.notify_all();
}

Turn& turn() {
  static auto* const the = new Turn;
  return *the;
}

}  // namespace cuda_on_cpu
