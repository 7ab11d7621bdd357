// SPDX-License-Identifier: Apache-2.0
#pragma once
// Requests of single ranks during a run, which all ranks agree on between the same two sweeps.

#include <cstdint>
#include <functional>

#include <halocline/communicator.hpp>

#include "base/recorder.hpp"
#include "comm/collectives.hpp"

namespace halocline::solver {

/// The larger one counts.
enum class Request { none, checkpoint, stop };

/// Asks all ranks a few times a second, without waiting for them: a request takes effect two
/// polls later.
class Requests {
 public:
  /// `mine` is called on this rank when all are asked.
  Requests(const Communicator& communicator, std::function<Request()> mine);

  /// Returns the request of any rank, the same on all, each request once. All must call it with the
  /// same numbers of sweeps.
  Request agreed(std::int64_t sweeps);
  /// Ends the round in flight. Collective.
  void finish();

 private:
  void ask(Request granted);
  Request finish_round();

  std::function<Request()> mine_;
  comm::NonblockingAllReduce wanted_, seconds_;
  Clock::time_point asked_ = Clock::now();
  std::int64_t next_ = 0, step_ = 1;  // in sweeps
};

}  // namespace halocline::solver
