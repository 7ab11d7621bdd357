// SPDX-License-Identifier: Apache-2.0
#include "lab/progress_thread.hpp"

#include <sched.h>

#include <exception>
#include <utility>

namespace halocline::bench {

ProgressThread::ProgressThread(std::function<void()> prepare, std::function<void()> move_on)
    : prepare_(std::move(prepare)), move_on_(std::move(move_on)), thread_([this] { work(); }) {}

ProgressThread::~ProgressThread() {
  state_.store(State::ending, std::memory_order_release);
  thread_.join();
}

void ProgressThread::begin() { state_.store(State::moving, std::memory_order_release); }

void ProgressThread::end() {
  state_.store(State::stopping, std::memory_order_release);
  while (state_.load(std::memory_order_acquire) != State::idle) sched_yield();
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void ProgressThread::work() {
  const auto guarded = [this](const std::function<void()>& call) {
    try {
      if (!error_) call();
    } catch (...) {
      error_ = std::current_exception();
    }
  };
  guarded(prepare_);
  for (;;) {
    switch (state_.load(std::memory_order_acquire)) {
      case State::moving:
        guarded(move_on_);
        break;
      case State::stopping:
        state_.store(State::idle, std::memory_order_release);
        break;
      case State::ending:
        return;
      case State::idle:
        break;
    }
    sched_yield();  // it may have to share a core with the work
  }
}

}  // namespace halocline::bench
