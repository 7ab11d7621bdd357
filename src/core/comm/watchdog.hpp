// SPDX-License-Identifier: Apache-2.0
#pragma once
// Waits that have no end of their own. MPI calls that block cannot be polled; a thread watches
// them and says by name what is stuck.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace halocline::comm {

/// Calls `on_stall` with a sentence when a guarded call lasts longer than the limit. Costs
/// nothing, and starts no thread, unless a handler is set.
class Watchdog {
 public:
  using Handler = std::function<void(const std::string&)>;

  Watchdog() = default;
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// `on_stall` is called on another thread, which must not return to MPI: end the process.
  void set_handler(Handler on_stall, std::chrono::duration<double> limit);

  /// Guards a call from its making to its end.
  class Guard {
   public:
    Guard(Watchdog& watchdog, std::string what);
    ~Guard();
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    /// Begins its time anew, for the next of calls that follow each other: wakes nobody, so it
    /// costs some 50 ns, where a guard of its own would cost a call of the kernel.
    void renew();

   private:
    Watchdog& watchdog_;
  };

 private:
  void watch();

  Handler on_stall_;
  std::chrono::duration<double> limit_{0};
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string what_;  // empty: nothing is guarded
  std::chrono::steady_clock::time_point since_;
  bool ending_ = false;
};

}  // namespace halocline::comm
