// SPDX-License-Identifier: Apache-2.0
#include "solver/engine/schedules/single_sweeps.hpp"

#include <algorithm>

#include "comm/collectives.hpp"
#include "solver/engine/runner.hpp"
#include "solver/engine/stopping.hpp"

namespace halocline::solver {

SingleSweeps::SingleSweeps(Runner& runner)
    : runner_(runner), clock_(comm::recorder(runner.communicator()), Phase::compute, "sweep") {}

/// Returns the owned cells and those of the halos next to other subdomains that `sweeps` further
/// sweeps read.
Box SingleSweeps::region(std::int64_t sweeps) const {
  const Grid& grid = runner_.exchange_grid();
  const HaloWidths reach = runner_.the_case().halo(sweeps);
  Box box = grid.owned();
  for (int axis = 0; axis < grid.axes(); ++axis) {
    Direction down, up;
    down[axis] = -1;
    up[axis] = 1;
    if (grid.neighbour(grid.rank(), down) >= 0) box.lower[axis] -= reach.lower[axis];
    if (grid.neighbour(grid.rank(), up) >= 0) box.upper[axis] += reach.upper[axis];
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
  const std::int64_t further = std::min(at.fresh_layers, the_case.sweeps - at.sweep) - 1;

  const bool wants_norm = the_case.wants_norm(at.sweep);
  const std::size_t next = (at.level + 1) % runner_.levels().size();
  Step step{.arguments = {.in = runner_.levels()[at.level],
                          .out = runner_.levels()[next],
                          .region = region(further),
                          .wraps = runner_.wrapped(),
                          .coefficients = runner_.coefficients(),
                          .time = the_case.time_of(at.sweep),
                          .clock = run.clock_of(at.sweep),
                          .norm = wants_norm ? the_case.norm : Norm::none},
            .level = static_cast<std::int64_t>(at.level),
            .fresh_layers = at.fresh_layers};
  run.stopping.begin(at.sweep, step.arguments, stream);
  if (needs_exchange) {
    exchange_and_sweep(step, stream);
    ++run.exchanges;
  } else {
    sweep_in_halo(step, stream);
  }
  run.stopping.end(at.sweep, stream);
  --at.fresh_layers;
  at.level = next;
  ++at.sweep;
}

void SingleSweeps::sweep_in_halo(const Step& step, Stream stream) {
  fill_ghosts(step, stencil::Ghosts::Beside::held, stream);
  sweep(step.arguments, step.arguments.region, Part::first, stream);
}

void SingleSweeps::fill_ghosts(const Step& step, stencil::Ghosts::Beside beside, Stream stream) {
  if (runner_.changing_ghosts() == nullptr) return;
  const Span span(comm::recorder(runner_.communicator()), Phase::compute, "ghosts");
  runner_.changing_ghosts()->fill(step.arguments.in, step.arguments.time, step.arguments.clock,
                                  beside, stream);
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
