// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ranks that tell each other what they are doing while they are stuck, so that all of them know
// when they will never go on.

#include <memory>
#include <vector>

#include <halocline/communicator.hpp>

#include "base/recorder.hpp"
#include "lab/standing.hpp"

namespace halocline::bench {

/// Answers of all ranks, call after call, gathered without blocking. A rank answers when it has
/// done all it has to, or has stood still for the interval; so nobody who gets on is disturbed.
/// Every rank sees the same answers, and comes to the same verdict at the same call.
class RollCall {
 public:
  enum class Verdict {
    open,
    all_done,  ///< all ranks have nothing more to do
    deadlock   ///< ranks in a circle have not moved from one call to the next
  };

  /// One at a time on a communicator, which is used for no other collective until a verdict is
  /// there. The interval is a tenth of a second, or less where the wait limit is short.
  explicit RollCall(const Communicator& communicator);
  ~RollCall();
  RollCall(const RollCall&) = delete;
  RollCall& operator=(const RollCall&) = delete;

  /// Tells what this rank is doing; to be called again and again while it waits. Does not block.
  Verdict look(const Standing& mine);

  /// The ranks in the circle, and everybody's standing; after a verdict of deadlock.
  const std::vector<int>& circle() const { return circle_; }
  const std::vector<Standing>& standings() const { return standings_; }

 private:
  struct Pending;

  bool is_time_to_answer(const Standing& mine);
  Verdict judge();

  std::unique_ptr<Pending> pending_;
  Clock::duration interval_;
  Clock::time_point since_ = Clock::now();  // this rank moved, or answered
  int last_step_ = -1;
  std::vector<Standing> standings_;  // of the call before
  std::vector<int> circle_;
};

}  // namespace halocline::bench
