// SPDX-License-Identifier: Apache-2.0
#pragma once
// Work of a known length that touches no memory and calls nobody: what a host computes while
// messages should move.

#include <cstdint>

#include <halocline/communicator.hpp>

namespace halocline::bench {

/// Does rounds of arithmetic, each of which needs the one before.
class BusyWork {
 public:
  /// Finds out how long a round takes when all ranks work at once. Collective. Time: some 20 ms.
  explicit BusyWork(const Communicator& communicator);

  /// Rounds that take about `seconds`, the same on every rank; at least 1.
  std::int64_t rounds_for(double seconds) const;

  /// Returns when they are done. Takes longer where others have the core meanwhile.
  void run(std::int64_t rounds);

 private:
  double seconds_per_round_ = 0;
  std::uint64_t value_ = 1;
};

}  // namespace halocline::bench
