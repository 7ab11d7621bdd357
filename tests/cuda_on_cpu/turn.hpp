// SPDX-License-Identifier: Apache-2.0
#pragma once
// The lock that every call of the runtime and every running kernel holds.

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace cuda_on_cpu {

/// Given to those who want it in the order in which they came: a kernel that lets go of it in a
/// loop does not get it back before the others. Its holder may take it again.
class Turn {
 public:
  void lock();
  void unlock();

 private:
  std::mutex mutex_;
  std::condition_variable passed_on_;
  std::uint64_t next_ = 0, served_ = 0;
  std::thread::id holder_;
  int depth_ = 0;
};

Turn& turn();

}  // namespace cuda_on_cpu
