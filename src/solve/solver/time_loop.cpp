// SPDX-License-Identifier: Apache-2.0
#include "solver/time_loop.hpp"

#include <algorithm>

#include "comm/collectives.hpp"
#include "device/queue.hpp"

namespace halocline::solver {
/// Owned cells, and `reach` layers of the halo where another subdomain lies.
Box TimeLoop::region(std::int64_t reach) const {
  const Grid& grid = parts_.grid;
  Box box = grid.owned();
  for (int axis = 0; axis < grid.axes(); ++axis) {
    Direction down, up;
    down[axis] = -1;
    up[axis] = 1;
    if (grid.neighbour(grid.rank(), down) >= 0) box.lower[axis] -= reach;
    if (grid.neighbour(grid.rank(), up) >= 0) box.upper[axis] += reach;
  }
  return box;
}

void TimeLoop::step(std::int64_t sweep, Stopping& stopping) {
  const Case& the_case = parts_.the_case;
  const bool needs_exchange = fresh_layers_ == 0;
  if (needs_exchange) fresh_layers_ = the_case.halo_depth;
  // No wider than the sweeps still to come before the next exchange can use.
  const std::int64_t reach = std::min(fresh_layers_, the_case.sweeps - sweep) - 1;

  const bool wants_norm = the_case.wants_norm(sweep);
  Step step{.exchange = parts_.exchanges[level_],
            .sweep = parts_.sweep,
            .grid = parts_.grid,
            .arguments = {.in = parts_.levels[level_],
                          .out = parts_.levels[1 - level_],
                          .region = region(reach),
                          .norm = wants_norm ? the_case.norm : problem::NormKind::none},
            .clock = clock_,
            .faces = parts_.links != nullptr ? &parts_.links->port(1 - level_) : nullptr,
            .is_first = sweep == 0,
            .branch = branch_ ? &*branch_ : nullptr};
  stopping.begin(sweep, step.arguments, parts_.stream);
  if (needs_exchange) {
    parts_.schedule.run(step, parts_.stream);
    ++exchanges_;
  } else {
    sweep_timed(step, step.arguments.region, Part::first, parts_.stream);
  }
  --fresh_layers_;
  level_ = 1 - level_;
  stopping.end(sweep, parts_.stream);
}

/// Queues a whole batch of sweeps as a graph; returns how many, 0 if they are to be queued one by
/// one.
std::int64_t TimeLoop::run_batch(std::int64_t first, Stopping& stopping) {
  const Case& the_case = parts_.the_case;
  const std::int64_t count = stopping.sweeps_at_once(0);
  // A graph must leave levels and halos as it finds them; and the first and last sweeps of a run
  // differ.
  const bool fits = first > 0 && first % count == 0 && count % (2 * the_case.halo_depth) == 0 &&
                    fresh_layers_ == 0 && first + count + the_case.halo_depth <= the_case.sweeps;
  if (parts_.graphs == Graphs::none || !fits) return 0;
  const auto kind = RecordedSweeps::kind_of(the_case, first, count, level_);
  if (parts_.graphs == Graphs::where_they_pay && !recorded_.pays(the_case, kind, first, count))
    return 0;
  const std::int64_t exchanges = exchanges_;
  recorded_.run(kind, parts_.stream, [&] {
    for (std::int64_t sweep = first; sweep < first + count; ++sweep) step(sweep, stopping);
  });
  exchanges_ = exchanges;
  return count;
}

/// Queues sweeps as one launch; returns how many. The first and the last sweep of a run differ.
std::int64_t TimeLoop::run_persistent(std::int64_t first, Stopping& stopping) {
  const std::int64_t count =
      std::min(stopping.sweeps_at_once(first), parts_.the_case.sweeps - 1 - first);
  if (!parts_.schedule.takes_batches() || first == 0 || count < 1) return 0;
  stencil::SweepBatch batch{.level = level_, .count = count};
  stopping.begin_batch(first, batch);
  batch_clock_.time(parts_.stream, 0, [&] { parts_.persistent->run(batch, parts_.stream); });
  level_ = (level_ + static_cast<std::size_t>(count)) % 2;
  return count;
}

LoopResult TimeLoop::run(Stopping& stopping, const AfterSweep& after_sweep) {
  const std::int64_t sweeps = parts_.the_case.sweeps;
  comm::barrier(parts_.communicator);
  comm::recorder(parts_.communicator).reset_totals();
  auto start = Clock::now();
  double first_sweep_seconds = 0;

  std::int64_t sweep = 0;
  std::int64_t in_graphs = 0;
  for (; sweep < sweeps && !stopping.stops_before(sweep); ++sweep) {
    const std::int64_t at_once = run_persistent(sweep, stopping);
    const std::int64_t in_graph = at_once > 0 ? 0 : run_batch(sweep, stopping);
    if (at_once + in_graph > 0) {
      in_graphs += in_graph;
      sweep += at_once + in_graph - 1;
      after_sweep(sweep);
      continue;
    }
    step(sweep, stopping);
    if (sweep == 0) {
      device::synchronize(parts_.stream);
      first_sweep_seconds = seconds_since(start);
      comm::recorder(parts_.communicator).reset_totals();
      start = Clock::now();
    }
    after_sweep(sweep);
  }
  const std::int64_t counted = stopping.finish(sweep);
  device::synchronize(parts_.stream);
  // A kernel may have given up waiting for a neighbour.
  for (Exchange& exchange : parts_.exchanges) exchange.progress();
  if (parts_.links != nullptr) parts_.links->check();
  if (parts_.edges != nullptr) parts_.edges->check();
  const double loop_seconds = seconds_since(start);
  comm::barrier(parts_.communicator);
  comm::recorder(parts_.communicator).collect();
  // Sweeps beyond the last that counts have not written the level it wrote.
  return {.sweeps = counted,
          .level = static_cast<std::size_t>(counted % 2),
          .exchanges = exchanges_,
          .sweeps_in_graphs = in_graphs,
          .first_sweep_seconds = first_sweep_seconds,
          .loop_seconds = loop_seconds};
}

}  // namespace halocline::solver
