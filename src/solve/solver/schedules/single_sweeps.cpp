// SPDX-License-Identifier: Apache-2.0
#include "solver/schedules/single_sweeps.hpp"

#include <algorithm>

#include "comm/collectives.hpp"
#include "solver/runner.hpp"
#include "solver/stopping.hpp"

namespace halocline::solver {

SingleSweeps::SingleSweeps(Runner& runner)
    : runner_(runner), clock_(comm::recorder(runner.communicator()), Phase::compute, "sweep") {}

/// Returns the owned cells and `reach` layers of the halos next to other subdomains.
Box SingleSweeps::region(std::int64_t reach) const {
  const Grid& grid = runner_.grid();
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

void SingleSweeps::advance(Run& run, std::int64_t) {
  const Case& the_case = run.the_case;
  RunState& at = run.at;
  const Stream stream = runner_.target().stream();
  const bool needs_exchange = at.fresh_layers == 0;
  if (needs_exchange) at.fresh_layers = the_case.halo_depth;
  // No wider than the sweeps before the next exchange can use.
  const std::int64_t reach = std::min(at.fresh_layers, the_case.sweeps - at.sweep) - 1;

  const bool wants_norm = the_case.wants_norm(at.sweep);
  Step step{.arguments = {.in = runner_.levels()[at.level],
                          .out = runner_.levels()[1 - at.level],
                          .region = region(reach),
                          .norm = wants_norm ? the_case.norm : Norm::none},
            .level = static_cast<std::int64_t>(at.level)};
  run.stopping.begin(at.sweep, step.arguments, stream);
  if (needs_exchange) {
    exchange_and_sweep(step, stream);
    ++run.exchanges;
  } else {
    sweep(step.arguments, step.arguments.region, Part::first, stream);
  }
  run.stopping.end(at.sweep, stream);
  --at.fresh_layers;
  at.level = 1 - at.level;
  ++at.sweep;
}

void SingleSweeps::sweep(const stencil::SweepArguments& arguments, const Box& region, Part part,
                         Stream stream) {
  stencil::SweepArguments some = arguments;
  some.region = region;
  some.is_first = part == Part::first;
  if (!some.is_first) some.reduction = {};
  clock_.time(stream, 0, [&] { runner_.sweep().run(some, stream); });
}

}  // namespace halocline::solver
