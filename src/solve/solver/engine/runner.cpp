// SPDX-License-Identifier: Apache-2.0
#include "solver/engine/runner.hpp"

#include <algorithm>
#include <functional>
#include <string_view>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "comm/collectives.hpp"
#include "solver/engine/batch.hpp"
#include "transport/transport.hpp"

namespace halocline::solver {
namespace {

constexpr auto other_node = static_cast<std::size_t>(transport::Pair::other_node);

Levels made_on_all_ranks(const Case& the_case, const Grid& grid, const RunnerParts& parts,
                         Level& coefficients) {
  Levels levels;
  comm::together(parts.communicator, [&] {
    check_memory(parts.communicator, the_case, grid, parts.target);
    levels = make_levels(the_case, grid, the_case.halo_depth, parts.target.memory);
    coefficients = make_coefficients(the_case, grid, the_case.halo_depth, parts.target.memory);
  });
  return levels;
}

std::vector<FieldList> exchanged(const Case& the_case, const Levels& levels) {
  std::vector<FieldList> lists(levels.size());
  for (std::size_t level = 0; level < levels.size(); ++level)
    for (const std::size_t f : the_case.exchanged_fields())
      lists[level].emplace_back(levels[level][f]);
  return lists;
}

std::array<bool, 3> axes_to_wrap(const Grid& grid, const Levels& levels, const Level& coefficients,
                                 const RunnerParts& parts) {
  std::array<bool, 3> wrapped{};
  for (int axis = 0; axis < grid.axes(); ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    const bool is_whole = grid.periodic(axis) && grid.process_grid().values()[axis] == 1;
    const bool able =
        is_whole && std::all_of(levels.begin(), levels.end(), [&](const Level& level) {
          return parts.sweep.can_wrap(axis, level, coefficients);
        });
    if (is_whole)
      wrapped[a] = comm::max_over_ranks(parts.communicator, std::int64_t{able ? 0 : 1}) == 0;
  }
  return wrapped;
}

GridOptions options_of_exchange(const Case& the_case, const Grid& grid,
                                const std::array<bool, 3>& wrapped) {
  GridOptions options = the_case.grid;
  options.process_grid = grid.process_grid();
  for (std::size_t axis = 0; axis < 3; ++axis)
    options.periodic[axis] = options.periodic[axis] && !wrapped[axis];
  return options;
}

}  // namespace

Runner::Runner(const Case& the_case, const RunnerParts& parts)
    : parts_(parts),
      case_(the_case),
      grid_(parts.communicator, case_.grid),
      levels_(made_on_all_ranks(case_, grid_, parts, coefficients_)),
      wrapped_(axes_to_wrap(grid_, levels_, coefficients_, parts)),
      exchange_grid_(parts.communicator, options_of_exchange(case_, grid_, wrapped_)),
      ghosts_(*case_.model, grid_, levels_[0][0].shape()),
      exchange_(parts.communicator, exchange_grid_, exchanged(case_, levels_),
                {.neighbours = case_.neighbours(),
                 .transport = parts.transport,
                 .proofs = parts.proofs,
                 .same_order = true}),
      transports_(exchange::choice_of(exchange_.info())) {
  if (case_.model->ghosts_change())
    comm::together(parts_.communicator, [&] {
      changing_ghosts_ =
          parts_.target.backend->make_ghosts(ghosts_, {.communicator = &parts_.communicator});
    });
  for (const std::string& note : exchange_info().notes) notes_.add(note);
  norms_stay_ = parts_.target.gpu && !needs_progress();
  if (norms_stay_ && parts_.communicator.size() > 1 && case_.norm != Norm::none) make_all_reduce();
  limit_passes();
}

void Runner::make_all_reduce() {
  try {
    comm::together(parts_.communicator, [&] { all_reduce_.emplace(parts_.communicator); });
  } catch (const Error& error) {
    all_reduce_.reset();
    const std::string why_no_gather = open_gather();
    norms_stay_ = gather_ != nullptr;
    if (!norms_stay_)
      notes_.add(
          fmt::format("MPI reduces norms, through the host: {}{}", error.what(), why_no_gather));
  }
}

/// Where kernels do not reach all ranks, a transport of the exchange may. Returns why none does.
std::string Runner::open_gather() {
  std::string why_not;
  for (const transport::Transport* one : transports_) {
    if (gather_ || one == nullptr) continue;
    try {
      gather_ = one->open_gather(parts_.communicator);
    } catch (const Error& error) {  // the same on every rank
      if (error.kind() == ErrorKind::communication) throw;
      why_not += fmt::format("; nor does transport {} gather them: {}", one->name(), error.what());
    }
  }
  return why_not;
}

void Runner::fill(int threads) {
  fill_levels(case_, grid_, levels_, coefficients_, parts_.communicator, threads);
}

void Runner::fill_for_trial(int threads) {
  if (parts_.target.gpu) {
    for (const Level& level : levels_)
      for (const FieldStorage& field : level) fill_with_noise(field, parts_.target.stream());
    for (const FieldStorage& field : coefficients_) fill_with_noise(field, parts_.target.stream());
    return;
  }
  Case by_text = case_;
  by_text.initial.assign(case_.initial.size(), std::nullopt);
  by_text.start_arrays.clear();
  fill_levels(by_text, grid_, levels_, coefficients_, parts_.communicator, threads);
}

bool Runner::needs_progress() const {
  return std::any_of(transports_.begin(), transports_.end(), [](const auto* one) {
    return one != nullptr && one->capabilities().needs_progress;
  });
}

bool Runner::calls_between_nodes() const {
  const transport::Transport* one = transports_[other_node];
  return one != nullptr && one->capabilities().carrier == transport::Carrier::stream;
}

std::optional<std::string> Runner::kernels_cannot_reach_because(Neighbour which) const {
  const std::size_t count = which == Neighbour::on_node ? other_node : transports_.size();
  for (std::size_t pair = 0; pair < count; ++pair)
    if (const transport::Transport* one = transports_[pair];
        one != nullptr && one->capabilities().carrier != transport::Carrier::kernels)
      return fmt::format("kernels cannot write through transport {}", one->name());
  return std::nullopt;
}

const MadeStepper& Runner::stepper_of(const Schedule& schedule) {
  const auto known = steppers_.find(&schedule);
  if (known != steppers_.end()) return known->second;
  const MadeStepper& made = steppers_[&schedule] = schedule.make(*this);
  if (made.reason == MadeStepper::Reason::failed)
    notes_.add(fmt::format("schedule {} was left out: {}", schedule.name(), made.why_not));
  return made;
}

std::optional<std::string> Runner::unavailable(const Schedule& schedule) {
  const MadeStepper& made = stepper_of(schedule);
  return made.stepper ? std::nullopt : std::optional(made.why_not);
}

std::optional<std::string> Runner::no_graphs_because() const {
  if (!parts_.target.gpu)
    return fmt::format("backend {} does not run on a GPU", parts_.target.backend->name());
  for (const transport::Transport* one : transports_)
    if (one != nullptr && !one->capabilities().stays_on_stream())
      return fmt::format("transport {} needs the host in every exchange", one->name());
  if (!norms_stay_) return "MPI reduces norms";
  return std::nullopt;
}

std::optional<std::string> Runner::no_passes_because() const {
  if (auto why_not = solver::no_passes_because(case_, *parts_.target.backend)) return why_not;
  if (!parts_.target.gpu) return std::nullopt;
  if (needs_progress()) return "the host moves its halos";
  if (!norms_stay_) return "MPI reduces norms";
  return std::nullopt;
}

void Runner::allow_passes(std::int64_t sweeps) {
  case_.sweeps_per_pass = sweeps;
  limit_passes();
}

/// Sets the most sweeps of a pass, the same on every rank.
void Runner::limit_passes() {
  sweeps_per_pass_ = 1;
  if (case_.sweeps_per_pass == 1 || no_passes_because()) return;
  const stencil::Pass like{.in = levels_[0],
                           .out = levels_[1],
                           .region = levels_[0][0].shape().held(),
                           .coefficients = coefficients_};
  sweeps_per_pass_ = -comm::max_over_ranks(
      parts_.communicator, -parts_.sweep.sweeps_in_pass(case_.sweeps_per_pass, like));
}

/// Reduces norms on the GPUs unless exchanges need the host between two sweeps.
std::unique_ptr<Stopping> Runner::stopping_for(const Case& the_case, const RunState& start,
                                               std::int64_t sweeps_per_pass) const {
  const Stream stream = parts_.target.stream();
  if (stream.is_host() && sweeps_per_pass > 1)
    return make_pass_stopping(parts_.communicator, the_case, start, sweeps_per_pass);
  if (!norms_stay_) return make_mpi_stopping(parts_.communicator, the_case, start, stream);
  return make_gpu_stopping({.communicator = parts_.communicator,
                            .the_case = the_case,
                            .sweep = parts_.sweep,
                            .all_reduce = all_reduce_ ? &all_reduce_->on_gpu() : nullptr,
                            .gather = gather_.get(),
                            .stream = stream,
                            .sweeps_per_pass = sweeps_per_pass},
                           start);
}

double Runner::compile_seconds() const {
  double seconds = changing_ghosts_ ? changing_ghosts_->compile_seconds() : 0;
  for (const auto& [schedule, made] : steppers_)
    if (made.stepper) seconds += made.stepper->compile_seconds();
  return seconds;
}

std::int64_t Runner::batch_sweeps() const {
  return norms_stay_ ? batch_sweeps_of(case_, sweeps_per_pass()) : 1;
}

Runner::Result Runner::run(const Case& the_case, const Execution& execution,
                           const AfterSweep& after_sweep, const RunState& start,
                           const Pauses& pauses) {
  std::unique_ptr<Stopping> stopping;
  comm::together(parts_.communicator,
                 [&] { stopping = stopping_for(the_case, start, execution.sweeps_per_pass); });
  if (const auto why_not = unavailable(*execution.schedule))
    throw Error(ErrorKind::internal, fmt::format("schedule {} has no stepper: {}",
                                                 execution.schedule->name(), *why_not));
  Stepper* stepper = stepper_of(*execution.schedule).stepper.get();
  std::optional<GraphStepper> in_graphs;
  if (execution.graphs != Graphs::none)
    stepper = &in_graphs.emplace(*stepper, execution.graphs, parts_.target.stream(),
                                 comm::recorder(parts_.communicator));
  const Run run{.the_case = the_case,
                .stopping = *stopping,
                .at = start,
                .sweeps_per_pass = execution.sweeps_per_pass};
  const LoopResult done = run_loop(
      *this, *stepper, run, [&](std::int64_t sweep) { after_sweep(sweep, *stopping); }, pauses);
  return {done, std::move(stopping)};
}

}  // namespace halocline::solver
