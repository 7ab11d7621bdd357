// SPDX-License-Identifier: Apache-2.0
#include "lab/deadlock_detector.hpp"

#include <algorithm>

#include "comm/gate.hpp"

namespace halocline::bench {
namespace {

// Far above what a message takes that both sides are ready for, where ranks share cores.
constexpr std::chrono::duration<double> usual_interval{0.1};

std::chrono::duration<double> interval_below(std::chrono::duration<double> wait_limit) {
  // Three answers and some time for them to arrive fit into the limit.
  return wait_limit.count() > 0 ? std::min(usual_interval, wait_limit / 8) : usual_interval;
}

}  // namespace

struct DeadlockDetector::Pending {
  explicit Pending(const Communicator& with)
      : communicator(with), answers(std::make_shared<Answers>()) {
    answers->all.resize(static_cast<std::size_t>(with.size()));
  }
  struct Answers {
    WaitState mine;
    std::vector<WaitState> all;
  };
  Communicator communicator;
  std::shared_ptr<Answers> answers;
  MPI_Request request = MPI_REQUEST_NULL;
};

DeadlockDetector::DeadlockDetector(const Communicator& communicator)
    : pending_(std::make_unique<Pending>(communicator)),
      interval_(std::chrono::duration_cast<Clock::duration>(
          interval_below(communicator.options().wait_limit))) {}

DeadlockDetector::~DeadlockDetector() {
  // A wait ran out: the others may answer yet.
  if (pending_->request != MPI_REQUEST_NULL) comm::keep_for_mpi(pending_->answers);
}

bool DeadlockDetector::is_time_to_answer(const WaitState& mine) {
  if (mine.does == WaitState::Does::nothing_more) return true;
  if (mine.step != last_step_) {
    last_step_ = mine.step;
    since_ = Clock::now();
  }
  return Clock::now() - since_ >= interval_;
}

DeadlockDetector::Verdict DeadlockDetector::look(const WaitState& mine) {
  Pending::Answers& answers = *pending_->answers;
  if (pending_->request == MPI_REQUEST_NULL) {
    if (!is_time_to_answer(mine)) return Verdict::open;
    answers.mine = mine;
    comm::check(
        MPI_Iallgather(&answers.mine, sizeof mine, MPI_BYTE, answers.all.data(), sizeof mine,
                       MPI_BYTE, pending_->communicator.state().all(), &pending_->request),
        "MPI_Iallgather");
  }
  int done = 0;
  comm::check(MPI_Test(&pending_->request, &done, MPI_STATUS_IGNORE), "MPI_Iallgather");
  return done != 0 ? decide() : Verdict::open;
}

/// Ranks of a circle that gave the same answer twice were in the same call all the time between.
DeadlockDetector::Verdict DeadlockDetector::decide() {
  const std::vector<WaitState>& now = pending_->answers->all;
  const std::vector<WaitState> before = std::exchange(states_, now);
  since_ = Clock::now();
  if (std::all_of(now.begin(), now.end(), [](const WaitState& state) {
        return state.does == WaitState::Does::nothing_more;
      }))
    return Verdict::all_done;
  cycle_ = wait_cycle(now);
  const bool stood_still =
      !before.empty() && std::all_of(cycle_.begin(), cycle_.end(), [&](int rank) {
        const auto index = static_cast<std::size_t>(rank);
        return before[index] == now[index];
      });
  return !cycle_.empty() && stood_still ? Verdict::deadlock : Verdict::open;
}

}  // namespace halocline::bench
