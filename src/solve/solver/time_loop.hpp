// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sweep after sweep.

#include <array>
#include <functional>
#include <optional>

#include "comm/collectives.hpp"
#include "device/queue.hpp"
#include "exchange/edge_links.hpp"
#include "exchange/face_links.hpp"
#include "solver/case.hpp"
#include "solver/levels.hpp"
#include "solver/recorded_sweeps.hpp"
#include "solver/schedule.hpp"
#include "solver/stopping.hpp"

namespace halocline::solver {

/// Whether sweeps and exchanges that may be queued at once are recorded in CUDA graphs.
enum class Graphs {
  none,
  where_they_pay,  ///< where a graph is used often enough
  wherever_possible
};

struct LoopParts {
  const Communicator& communicator;
  const Case& the_case;
  const Grid& grid;
  Levels& levels;
  std::array<Exchange, 2>& exchanges;  ///< one for each level
  stencil::Sweep& sweep;
  const Schedule& schedule;
  Stream stream;  ///< on which the sweep runs
  /// For a schedule whose sweeps send their halos themselves.
  exchange::FaceLinks* links = nullptr;
  /// For a schedule that takes batches, and its links.
  stencil::PersistentSweep* persistent = nullptr;
  exchange::EdgeLinks* edges = nullptr;
  Graphs graphs = Graphs::none;
};

struct LoopResult {
  std::int64_t sweeps;            ///< that count: the one that stopped the run is the last
  std::size_t level;              ///< which level holds the result
  std::int64_t exchanges;         ///< done one by one
  std::int64_t sweeps_in_graphs;  ///< of those begun
  double first_sweep_seconds, loop_seconds;  ///< of this rank; the loop without the first sweep
};

class TimeLoop {
 public:
  /// Called after a sweep, with its number from 0; must be cheap.
  using AfterSweep = std::function<void(std::int64_t sweep)>;

  explicit TimeLoop(const LoopParts& parts)
      : parts_(parts),
        clock_(comm::recorder(parts.communicator), Phase::compute, "sweep"),
        batch_clock_(comm::recorder(parts.communicator), Phase::compute, "sweeps in one launch"),
        recorded_(comm::recorder(parts.communicator)) {
    if (!parts_.stream.is_host()) branch_.emplace();
  }
  /// Runs from level 0. Collective.
  LoopResult run(Stopping& stopping, const AfterSweep& after_sweep);

 private:
  void step(std::int64_t sweep, Stopping& stopping);
  std::int64_t run_batch(std::int64_t first, Stopping& stopping);
  std::int64_t run_persistent(std::int64_t first, Stopping& stopping);
  Box region(std::int64_t reach) const;

  LoopParts parts_;
  device::StreamClock clock_, batch_clock_;
  std::optional<device::Branch> branch_;
  RecordedSweeps recorded_;
  std::size_t level_ = 0;          // that holds the newest values
  std::int64_t fresh_layers_ = 0;  // halo cells still right, from the owned ones outward
  std::int64_t exchanges_ = 0;
};

}  // namespace halocline::solver
