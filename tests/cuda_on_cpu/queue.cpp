#include "queue.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

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
  return work;
}

void Queue::perform(const WorkPtr& work) {
  pending_.erase(work->number);
  if (work->run) work->run();
  work->run = nullptr;
  work->after.clear();
  work->end = Clock::now();
  work->done = true;
}

void Queue::wait(const WorkPtr& work) {
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
  perform(order_ == Order::random ? any_ready() : oldest_ready_before(work));
  return work->done;
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

}  // namespace cuda_on_cpu
