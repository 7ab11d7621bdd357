// SPDX-License-Identifier: Apache-2.0
#include "solver/engine/schedules/pass_stepper.hpp"

#include <algorithm>

#include "comm/collectives.hpp"
#include "solver/engine/runner.hpp"
#include "solver/engine/stopping.hpp"

namespace halocline::solver {

PassStepper::PassStepper(Runner& runner)
    : runner_(runner), clock_(comm::recorder(runner.communicator()), Phase::compute, "sweep") {}

/// Returns the owned cells and those of the halos next to other subdomains that `sweeps` further
/// sweeps read.
Box PassStepper::region(std::int64_t sweeps) const {
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

void PassStepper::advance(Run& run, std::int64_t most) {
  const Case& the_case = run.the_case;
  RunState& at = run.at;
  const Levels& levels = runner_.levels();
  const Stream stream = runner_.target().stream();
  Step step{.pass = {.in = levels[at.level],
                     .out = levels[(at.level + 1) % levels.size()],
                     .region = levels[at.level][0].shape().held(),  // until it is known: at most
                     .wraps = runner_.wrapped(),
                     .coefficients = runner_.coefficients(),
                     .first_sweep = at.sweep,
                     .clock = run.clock_of(at.sweep)},
            .level = static_cast<std::int64_t>(at.level),
            .fresh_layers = at.fresh_layers};
  stencil::Pass& pass = step.pass;
  if (run.sweeps_per_pass > 1)
    pass.sweeps = runner_.sweep().sweeps_in_pass(std::min(most, run.sweeps_per_pass), pass);
  const bool needs_exchange = at.fresh_layers < pass.sweeps;
  if (needs_exchange) {
    step.fresh_layers = run.sweeps_per_pass > 1
                            ? the_case.passes_per_exchange(run.sweeps_per_pass) * pass.sweeps
                            : the_case.halo_depth;
    at.fresh_layers = step.fresh_layers;
  }
  // No wider than the sweeps before the next exchange can use.
  pass.region = region(std::min(at.fresh_layers, the_case.sweeps - at.sweep) - pass.sweeps);
  // Of two levels of a field that another follows, a pass of several sweeps writes both.
  const bool writes_two = pass.sweeps > 1 && levels.size() > 2;
  const std::size_t next = (at.level + (writes_two ? 2 : 1)) % levels.size();
  pass.out = levels[next];

  run.stopping.begin(pass, stream);
  if (needs_exchange) {
    exchange_and_sweep(step, stream);
    ++run.exchanges;
  } else {
    sweep_in_halo(step, stream);
  }
  run.stopping.end(pass, stream);
  at.fresh_layers -= pass.sweeps;
  if (pass.sweeps > 1) run.sweeps_in_passes += pass.sweeps;
  run.finish_pass(pass.sweeps, next);
}

void PassStepper::sweep_in_halo(const Step& step, Stream stream) {
  fill_ghosts(step, stencil::Ghosts::Beside::held, stream);
  sweep(step.pass, step.pass.region, Part::first, stream);
}

void PassStepper::fill_ghosts(const Step& step, stencil::Ghosts::Beside beside, Stream stream) {
  if (runner_.changing_ghosts() == nullptr) return;
  const Span span(comm::recorder(runner_.communicator()), Phase::compute, "ghosts");
  runner_.changing_ghosts()->fill(step.pass.in, step.pass.time(), step.pass.clock, beside, stream);
}

void PassStepper::sweep(const stencil::Pass& pass, const Box& region, Part part, Stream stream) {
  stencil::Pass some = pass;
  some.region = region;
  some.is_first = part == Part::first;
  if (!some.is_first) some.reduction = {};
  clock_.time(stream, 0, [&] { runner_.sweep().run(some, stream); });
}

}  // namespace halocline::solver
