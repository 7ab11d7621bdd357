// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ranks that tell each other what they are doing while they are stuck, so that all of them know
// when they will never go on.

#include <memory>
#include <vector>

#include <halocline/communicator.hpp>

#include "base/recorder.hpp"
#include "lab/wait_state.hpp"

namespace halocline::bench {

/// Answers of all ranks, call after call, gathered without blocking. A rank answers when it has
/// done all it has to, or has stood still for the interval; so nobody who gets on is disturbed.
/// Every rank sees the same answers, and comes to the same verdict at the same call.
class DeadlockDetector {
 public:
  enum class Verdict {
    open,
    all_done,  ///< all ranks have nothing more to do
    deadlock   ///< ranks in a circle have not moved from one call to the next
  };

  /// One at a time on a communicator, which is used for no other collective until a verdict is
  /// there. The interval is a tenth of a second, or less where the wait limit is short.
  explicit DeadlockDetector(const Communicator& communicator);
  ~DeadlockDetector();
  DeadlockDetector(const DeadlockDetector&) = delete;
  DeadlockDetector& operator=(const DeadlockDetector&) = delete;

  /// Tells what this rank is doing; to be called again and again while it waits. Does not block.
  Verdict look(const WaitState& mine);

  /// The ranks in the circle, and everybody's state; after a verdict of deadlock.
  const std::vector<int>& circle() const { return cycle_; }
  const std::vector<WaitState>& states() const { return states_; }

 private:
  struct Pending;

  bool is_time_to_answer(const WaitState& mine);
  Verdict decide();

  std::unique_ptr<Pending> pending_;
  Clock::duration interval_;
  Clock::time_point since_ = Clock::now();  // this rank moved, or answered
  int last_step_ = -1;
  std::vector<WaitState> states_;  // of the call before
  std::vector<int> cycle_;
};

}  // namespace halocline::bench
