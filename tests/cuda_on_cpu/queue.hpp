// SPDX-License-Identifier: Apache-2.0
#pragma once
// Work that was queued on streams and is done later, in an order that its dependencies allow.

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "settings.hpp"

namespace cuda_on_cpu {

using Clock = std::chrono::steady_clock;

/// One kernel, copy, event, … and what must be done before it.
struct Work {
  std::uint64_t number = 0;  // in the order of the calls, so what it waits for has smaller ones
  int device = 0;
  bool blocking = false;  // on the legacy stream or one that synchronises with it
  std::function<void()> run;
  std::vector<std::shared_ptr<Work>> after;
  bool begun = false, done = false;
  Clock::time_point end;
};
using WorkPtr = std::shared_ptr<Work>;

enum class StreamKind { legacy, blocking, non_blocking };

struct Capture;
struct Stream {
  int device;
  StreamKind kind;
  WorkPtr last = nullptr;  // null if there was none
  // While its work is captured: where to, and the nodes behind which the next one comes.
  std::shared_ptr<Capture> capture = nullptr;
  std::vector<std::size_t> ends{};
};

/// Its calls need the turn.
class Queue {
 public:
  /// `at_rest` is called when threads of Order::thread have done all that was begun.
  Queue(Order order, std::uint64_t seed, std::function<void()> at_rest)
      : order_(order), random_(seed), at_rest_(std::move(at_rest)) {}
  /// Ends the threads, having waited for what has begun.
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  /// Adds work to a stream, behind `also` too. With Order::eager it is done on return.
  WorkPtr add(Stream& stream, std::function<void()> run, const std::vector<WorkPtr>& also = {});
  /// Adds work that belongs to no stream. It is done when other work waits for it.
  WorkPtr add_alone(int device, std::function<void()> run, const std::vector<WorkPtr>& after);

  /// Returns when it is done; null is.
  void wait(const WorkPtr& work);
  /// Waits for a stream; for the legacy one, also for what a kernel on it would wait for.
  void finish(Stream& stream);
  /// Waits for what was queued on a device.
  void drain(int device);
  /// Does one thing that is due before this work can be done; true if all is done then.
  bool nudge(const WorkPtr& work);
  /// The same for a stream; for the legacy one, as for finish().
  bool nudge(Stream& stream);
  /// With Order::random, does some work or none, as it would go on behind the host's back.
  void drift();
  /// What differs from kernel to kernel when the order is random.
  std::uint64_t draw() { return random_(); }
  /// How much work threads have begun and not done.
  int running() const { return running_; }

 private:
  void perform(const WorkPtr& work);
  WorkPtr oldest_ready_before(const WorkPtr& work) const;
  WorkPtr any_ready();
  WorkPtr oldest_that_can_begin() const;
  void hire();
  void serve();

  Order order_;
  std::mt19937_64 random_;
  std::uint64_t count_ = 0;
  std::map<std::uint64_t, WorkPtr> pending_;
  std::map<int, WorkPtr> last_legacy_;  // by device

  // Of Order::thread. There is one thread more than there are kernels that wait in __nanosleep.
  std::function<void()> at_rest_;
  std::condition_variable_any changed_;
  int threads_ = 0, idle_ = 0, running_ = 0;
  bool one_is_coming_ = false;  // a thread that has not looked for work yet
  bool ends_ = false;
};

}  // namespace cuda_on_cpu
