// SPDX-License-Identifier: Apache-2.0
#pragma once
// A thread that does nothing but move messages on.

#include <atomic>
#include <functional>
#include <thread>

namespace halocline::bench {

/// Calls `move_on` again and again, on a thread of its own, between begin() and end().
class ProgressThread {
 public:
  /// `prepare` is called once on the thread, before anything else.
  ProgressThread(std::function<void()> prepare, std::function<void()> move_on);
  ~ProgressThread();
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;

  /// Throws nothing; what `prepare` or `move_on` throw is thrown by end().
  void begin();
  /// Returns once the thread is out of `move_on`: what it did is seen here.
  void end();

 private:
  enum class State { idle, moving, stopping, ending };
  void work();

  std::function<void()> prepare_, move_on_;
  std::atomic<State> state_{State::idle};
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace halocline::bench
