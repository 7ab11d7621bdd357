// SPDX-License-Identifier: Apache-2.0
#pragma once
// A runnable combination of a layout, a way to move halos, and sweeps per exchange.

#include <array>
#include <cstdint>
#include <memory>

#include "bench/layout_bench.hpp"
#include "bench/usable_ways.hpp"
#include "solver/engine/runner.hpp"

namespace halocline::bench {

struct LayoutTrialParts {
  const Communicator& communicator;
  const LayoutCase& layout;
  const UsableWay& way;
  stencil::Sweep& sweep;
  const std::optional<std::string>& proofs;
  int threads;
};

class LayoutTrial {
 public:
  /// Allocates levels and fills them. The parts must outlive it. Collective; throws as the
  /// constructor of Runner does.
  explicit LayoutTrial(const LayoutTrialParts& parts);

  /// Seconds of this rank, without the first sweep.
  struct Times {
    double loop = 0;
    std::array<double, layout_phases.size()> phases{};
  };
  /// Continues the previous run with a first sweep, which is not timed, and `sweeps` timed sweeps,
  /// a multiple of those per exchange. So the timed sweeps include a whole number of exchanges with
  /// all redundant updates.
  Times run(std::int64_t sweeps);

  const solver::Runner& runner() const { return runner_; }
  /// Returns the newest values, in rows that the host can read.
  solver::Level newest() const;
  std::int64_t messages() const;
  std::int64_t bytes() const;
  std::int64_t pieces() const;

 private:
  const Communicator& communicator_;
  std::shared_ptr<void> prepared_;  // by HaloWay::prepare
  solver::Runner runner_;
  std::unique_ptr<HaloMover> mover_;                // null: the runner's exchange
  std::unique_ptr<solver::Schedule> moved_sweeps_;  // null without a mover
  std::size_t level_ = 0;                           // has the newest values
};

}  // namespace halocline::bench
