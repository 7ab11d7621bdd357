// SPDX-License-Identifier: Apache-2.0
#include "comm/watchdog.hpp"

#include <utility>

#include <fmt/format.h>

namespace halocline::comm {

Watchdog& Watchdog::of_end() {
  static Watchdog only;
  return only;
}

Watchdog::~Watchdog() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Watchdog::set_handler(Handler on_stall, std::chrono::duration<double> limit) {
  const std::lock_guard lock(mutex_);
  on_stall_ = std::move(on_stall);
  limit_ = limit;
  if (thread_.joinable())
    changed_.notify_all();
  else if (on_stall_ && limit_.count() > 0)
    thread_ = std::thread([this] { watch(); });
}

void Watchdog::watch() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    if (!on_stall_ || limit_.count() <= 0) {
      changed_.wait(lock);
      continue;
    }
    // Guards do not wake this thread, which would take a system call each. One that starts while
    // it sleeps ends no earlier than that sleep.
    const auto limit = std::chrono::duration_cast<std::chrono::steady_clock::duration>(limit_);
    changed_.wait_until(lock,
                        (what_ != nullptr ? since_ : std::chrono::steady_clock::now()) + limit);
    // By now it may guard another call, which has time left.
    if (what_ == nullptr || std::chrono::steady_clock::now() - since_ < limit) continue;
    const std::string sentence = fmt::format(
        "{} has not returned for {:g} s; another rank is stopped, lost or in another call", what_,
        limit_.count());
    what_ = nullptr;
    const Handler on_stall = on_stall_;
    lock.unlock();
    on_stall(sentence);
    lock.lock();
  }
}

Watchdog::Guard::Guard(Watchdog& watchdog, const char* what) : watchdog_(watchdog) {
  if (!watchdog_.thread_.joinable()) return;
  const std::lock_guard lock(watchdog_.mutex_);
  outer_ = std::exchange(watchdog_.what_, what);
  watchdog_.since_ = std::chrono::steady_clock::now();
}

Watchdog::Guard::~Guard() {
  if (!watchdog_.thread_.joinable()) return;
  const std::lock_guard lock(watchdog_.mutex_);
  watchdog_.what_ = outer_;
  watchdog_.since_ = std::chrono::steady_clock::now();
}

}  // namespace halocline::comm
