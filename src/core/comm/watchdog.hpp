// SPDX-License-Identifier: Apache-2.0
#pragma once
// A limit for blocking MPI calls. These cannot be polled; a thread watches them and reports the
// call that does not return.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace halocline::comm {

/// Calls `on_stall` with a sentence when a guarded call takes longer than the limit. Costs nothing,
/// and starts no thread, unless a handler is set.
class Watchdog {
 public:
  using Handler = std::function<void(const std::string&)>;

  /// Returns the one for MPI_Finalize, when communicators are gone.
  static Watchdog& of_end();

  Watchdog() = default;
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// `on_stall` is called on another thread, which must not return to MPI: end the process.
  void set_handler(Handler on_stall, std::chrono::duration<double> limit);

  /// Guards a call from its construction to its destruction, for some 50 ns. A guard created
  /// meanwhile replaces it; then its limit starts again. Guards end in the reverse order of their
  /// start.
  class Guard {
   public:
    /// `what` must outlive it.
    Guard(Watchdog& watchdog, const char* what);
    ~Guard();
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    Watchdog& watchdog_;
    const char* outer_ = nullptr;  // what was guarded before
  };

 private:
  void watch();

  Handler on_stall_;
  std::chrono::duration<double> limit_{0};
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  const char* what_ = nullptr;  // null: nothing is guarded
  std::chrono::steady_clock::time_point since_;
  bool ending_ = false;
};

}  // namespace halocline::comm
