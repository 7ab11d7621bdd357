#include "solver/time_loop.hpp"

#include <algorithm>

#include "comm/collectives.hpp"
#include "device/queue.hpp"

namespace halocline::solver {
namespace {

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

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
            .clock = clock_};
  stopping.begin(sweep, step.arguments, parts_.stream);
  if (needs_exchange) {
    parts_.schedule.run(step, parts_.stream);
    ++exchanges_;
  } else {
    sweep_timed(step, step.arguments.region, Part::last, parts_.stream);
  }
  --fresh_layers_;
  level_ = 1 - level_;
  stopping.end(sweep, parts_.stream);
}

LoopResult TimeLoop::run(Stopping& stopping, const AfterSweep& after_sweep) {
  const std::int64_t sweeps = parts_.the_case.sweeps;
  comm::barrier(parts_.communicator);
  comm::recorder(parts_.communicator).reset_totals();
  auto start = Clock::now();
  double first_sweep_seconds = 0;

  std::int64_t sweep = 0;
  for (; sweep < sweeps && !stopping.stops_before(sweep); ++sweep) {
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
  const double loop_seconds = seconds_since(start);
  comm::barrier(parts_.communicator);
  comm::recorder(parts_.communicator).collect();
  // Sweeps beyond the last that counts have not written the level it wrote.
  return {counted, static_cast<std::size_t>(counted % 2), exchanges_, first_sweep_seconds,
          loop_seconds};
}

}  // namespace halocline::solver
