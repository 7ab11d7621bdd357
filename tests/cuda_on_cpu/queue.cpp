// SPDX-License-Identifier: Apache-2.0
#include "queue.hpp"

#include <algorithm>
#include <iterator>
#include <thread>
#include <utility>

#include "turn.hpp"

namespace cuda_on_cpu {
namespace {

bool is_ready(const WorkPtr& work) {
  return std::all_of(work->after.begin(), work->after.end(),
                     [](const WorkPtr& w) { return w->done; });
}

}  // namespace

WorkPtr Queue::add_alone(int device, std::function<void()> run, const std::vector<WorkPtr>& after) {
  auto work = std::make_shared<Work>();
  work->number = count_++;
  work->device = device;
  work->run = std::move(run);
  std::copy_if(after.begin(), after.end(), std::back_inserter(work->after),
               [](const WorkPtr& other) { return other && !other->done; });
  pending_[work->number] = work;
  return work;
}

WorkPtr Queue::add(Stream& stream, std::function<void()> run, const std::vector<WorkPtr>& also) {
  const WorkPtr work = add_alone(stream.device, std::move(run), also);
  work->blocking = stream.kind != StreamKind::non_blocking;
  const auto wait_for = [&](const WorkPtr& other) {
    if (other && !other->done) work->after.push_back(other);
  };
  wait_for(stream.last);
  // The legacy stream waits for all blocking ones, and they for it. What came before its own last
  // work that one waits for already.
  WorkPtr& last_legacy = last_legacy_[stream.device];
  if (stream.kind == StreamKind::legacy) {
    auto other = last_legacy ? pending_.upper_bound(last_legacy->number) : pending_.begin();
    for (; other->second != work; ++other) {
      if (other->second->blocking && other->second->device == stream.device)
        wait_for(other->second);
    }
    last_legacy = work;
  } else if (work->blocking) {
    wait_for(last_legacy);
  }
  stream.last = work;
  if (order_ == Order::eager) wait(work);
  if (order_ == Order::thread) hire();
  return work;
}

void Queue::perform(const WorkPtr& work) {
  work->begun = true;
  if (work->run) work->run();
  pending_.erase(work->number);
  work->run = nullptr;
  work->after.clear();
  work->end = Clock::now();
  work->done = true;
}

void Queue::wait(const WorkPtr& awaited) {
  const WorkPtr work = awaited;  // which another thread may change
  if (order_ == Order::thread) {
    if (work) changed_.wait(turn(), [&] { return work->done; });
    return;
  }
  if (order_ == Order::random) {
    while (work && !work->done) perform(any_ready());
    return;
  }
  // Only what it depends on, to the end of one dependency before the next. A loop, since chains
  // of a million pieces of work would be too deep for recursion.
  std::vector<WorkPtr> chain;
  if (work) chain.push_back(work);
  while (!chain.empty()) {
    const WorkPtr next = chain.back();
    const auto first = std::find_if(next->after.begin(), next->after.end(),
                                    [](const WorkPtr& w) { return !w->done; });
    if (!next->done && first != next->after.end()) {
      chain.push_back(*first);
      continue;
    }
    if (!next->done) perform(next);
    chain.pop_back();
  }
}

void Queue::finish(Stream& stream) {
  if (stream.kind == StreamKind::legacy) add(stream, nullptr);
  wait(stream.last);
}

void Queue::drain(int device) {
  for (;;) {
    const auto of_device = [&](const auto& entry) { return entry.second->device == device; };
    const auto next = std::find_if(pending_.begin(), pending_.end(), of_device);
    if (next == pending_.end()) return;
    wait(WorkPtr(next->second));
  }
}

bool Queue::nudge(const WorkPtr& work) {
  if (!work || work->done) return true;
  if (order_ == Order::thread) return false;
  perform(order_ == Order::random ? any_ready() : oldest_ready_before(work));
  return work->done;
}

bool Queue::nudge(Stream& stream) {
  if (stream.kind == StreamKind::legacy && order_ == Order::thread) {
    return std::none_of(pending_.begin(), pending_.end(), [&](const auto& entry) {
      return entry.second->blocking && entry.second->device == stream.device;
    });
  }
  // A marker at each call would never let a loop of queries end.
  const bool idle = !stream.last || stream.last->done;
  if (stream.kind == StreamKind::legacy && idle) add(stream, nullptr);
  return nudge(stream.last);
}

void Queue::drift() {
  if (order_ != Order::random) return;
  for (auto n = random_() % 4; n > 0 && !pending_.empty(); --n) perform(any_ready());
}

WorkPtr Queue::oldest_ready_before(const WorkPtr& work) const {
  WorkPtr next = work;
  while (!is_ready(next)) {
    next = *std::find_if(next->after.begin(), next->after.end(),
                         [](const WorkPtr& w) { return !w->done; });
  }
  return next;
}

WorkPtr Queue::any_ready() {
  std::vector<WorkPtr> ready;
  for (const auto& [number, work] : pending_) {
    if (is_ready(work)) ready.push_back(work);
  }
  return ready[random_() % ready.size()];
}

// ---- threads

WorkPtr Queue::oldest_that_can_begin() const {
  for (const auto& [number, work] : pending_) {
    if (!work->begun && is_ready(work)) return work;
  }
  return nullptr;
}

// Called whenever there may be more to do; who takes work calls it again for the next.
void Queue::hire() {
  if (!oldest_that_can_begin()) return;
  if (idle_ > 0) {
    changed_.notify_all();
  } else if (!one_is_coming_) {
    one_is_coming_ = true;
    ++threads_;
    std::thread([this] { serve(); }).detach();
  }
}

void Queue::serve() {
  // Each wakes up whenever anything has changed: no more than are of use.
  constexpr int most_idle = 2;
  turn().lock();
  one_is_coming_ = false;
  while (!ends_) {
    if (const WorkPtr work = oldest_that_can_begin()) {
      work->begun = true;
      hire();
      ++running_;
      perform(work);
      if (--running_ == 0) at_rest_();
      changed_.notify_all();
    } else if (idle_ == most_idle) {
      break;
    } else {
      ++idle_;
      changed_.wait(turn());
      --idle_;
    }
  }
  --threads_;
  changed_.notify_all();
  turn().unlock();
}

Queue::~Queue() {
  ends_ = true;
  changed_.notify_all();
  if (threads_ > 0) changed_.wait(turn(), [&] { return threads_ == 0; });
}

}  // namespace cuda_on_cpu
