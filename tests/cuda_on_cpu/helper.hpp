#pragma once
// A thread that goes on only while the one that made it waits for it: threads have thread_local
// variables of their own, fibers have not.

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace cuda_on_cpu {

class Helper {
 public:
  explicit Helper(std::function<void(Helper&)> main);
  /// It must have ended.
  ~Helper() { thread_.join(); }
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;

  /// Lets it go on until it gives way; false once it has ended.
  bool resume();
  /// Called by the helper itself: lets the other one go on until the next resume().
  void give_way();

 private:
  void pass_to(bool helper);

  std::mutex mutex_;
  std::condition_variable passed_;
  bool is_helpers_ = false, has_ended_ = false;
  std::thread thread_;
};

}  // namespace cuda_on_cpu
