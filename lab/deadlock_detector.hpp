// SPDX-License-Identifier: Apache-2.0
#pragma once
// Detection of deadlocks among ranks, which exchange their states while they wait.

#include <memory>
#include <vector>

#include <halocline/communicator.hpp>

#include "base/recorder.hpp"
#include "lab/wait_state.hpp"

namespace halocline::bench {

/// Gathers the states of all ranks repeatedly, without blocking. A rank contributes its state when
/// it has finished, or has made no progress for the interval, so ranks that make progress are not
/// disturbed. All ranks get the same states, and reach the same verdict in the same round.
class DeadlockDetector {
 public:
  enum class Verdict {
    open,
    all_done,  ///< all ranks have nothing more to do
    deadlock   ///< ranks in a cycle made no progress between two rounds
  };

  /// At most one object may use a communicator, which must not be used for other collectives until
  /// there is a verdict. The interval is a tenth of a second, or less if the wait limit is short.
  explicit DeadlockDetector(const Communicator& communicator);
  ~DeadlockDetector();
  DeadlockDetector(const DeadlockDetector&) = delete;
  DeadlockDetector& operator=(const DeadlockDetector&) = delete;

  /// Takes this rank's state; to be called repeatedly while it waits. Does not block.
  Verdict look(const WaitState& mine);

  /// The ranks in the cycle, and the states of all ranks; after a verdict of deadlock.
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
  std::vector<WaitState> states_;  // of the previous round
  std::vector<int> cycle_;
};

}  // namespace halocline::bench
