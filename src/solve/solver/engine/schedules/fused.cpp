// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include <halocline/error.hpp>
#include <halocline/exchange.hpp>

#include "comm/collectives.hpp"
#include "links/face_links.hpp"
#include "solver/engine/runner.hpp"
#include "solver/engine/schedules/pass_stepper.hpp"
#include "solver/engine/schedules/schedules.hpp"

namespace halocline::solver {
namespace {

/// Returns the field that neighbours need, in each level.
std::vector<std::reference_wrapper<const FieldStorage>> fields_with_halo(const Runner& runner) {
  const std::size_t number = *runner.the_case().model->only_field_with_halo();
  std::vector<std::reference_wrapper<const FieldStorage>> fields;
  for (const Level& level : runner.levels()) fields.emplace_back(level[number]);
  return fields;
}

/// Returns how far the updates between two halos read that field; other fields and coefficients may
/// be read farther.
HaloWidths widths_of_halo(const Case& the_case) {
  const problem::Model& model = *the_case.model;
  const problem::Reach& reach = model.fields[*model.only_field_with_halo()].reach;
  HaloWidths widths(0);
  for (int axis = 0; axis < 3; ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    widths.lower[axis] = the_case.halo_depth * reach.lower[a];
    widths.upper[axis] = the_case.halo_depth * reach.upper[a];
  }
  return widths;
}

/// Sweeps store what neighbours beyond the ends of the last axis need into their halos, and wait
/// for theirs. An exchange on the same stream then serves the others. No cycle of waits: it waits
/// only for exchanges after the same sweep, and a sweep only for stores of the one before.
///
/// The last sweep in a deep halo stores the next one. What it stores over, the neighbours have read
/// in sweeps before their last, so all meet before it. The first sweep in the next halo reads more
/// than its own tiles have waited for, so it waits for all.
class FusedStepper final : public PassStepper {
 public:
  explicit FusedStepper(Runner& runner)
      : PassStepper(runner),
        links_(runner.communicator(), runner.exchange_grid(), fields_with_halo(runner),
               widths_of_halo(runner.the_case())) {
    if (links::all_are_linked(runner.communicator(), runner.exchange_grid())) return;
    for (const FieldStorage& field : fields_with_halo(runner))
      beside_links_.emplace_back(runner.communicator(), runner.exchange_grid(), FieldList{field},
                                 ExchangeOptions{.neighbours = runner.the_case().neighbours(),
                                                 .transport = runner.exchange_info().transport(),
                                                 .proofs = runner.proofs(),
                                                 .same_order = true},
                                 links::not_linked(runner.communicator(), runner.exchange_grid()));
  }

  void advance(Run& run, std::int64_t most) override {
    // No earlier sweep has sent the halo of a run's first sweep.
    is_sent_ = run.at.fresh_layers == depth();
    if (is_sent_) run.at.fresh_layers = 0;
    PassStepper::advance(run, most);
    // The sweep after the last one in a halo waits for the next halo.
    if (run.at.fresh_layers == 0) run.at.fresh_layers = depth();
  }

  void check() override { links_.check(); }

 private:
  void exchange_and_sweep(const Step& step, Stream stream) override {
    if (!is_sent_)
      runner().exchange().run(step.level, stream);
    else if (depth() > 1)
      links_.await(stream);
    sweep_in_halo(step, stream);
  }

  void sweep_in_halo(const Step& step, Stream stream) override {
    if (step.fresh_layers > 1) return PassStepper::sweep_in_halo(step, stream);
    // Cells that neighbours will overwrite are read by sweeps before this one.
    if (depth() > 1) links_.meet(stream);
    // Ghosts next to halos do not change, or are not read.
    fill_ghosts(step, stencil::Ghosts::Beside::owned, stream);
    stencil::Pass pushing = step.pass;
    const std::size_t next = (static_cast<std::size_t>(step.level) + 1) % runner().levels().size();
    pushing.faces = &links_.port(next);
    sweep(pushing, pushing.region, Part::first, stream);
    if (!beside_links_.empty()) beside_links_[next].run(stream);
  }

  std::int64_t depth() { return runner().the_case().halo_depth; }

  links::FaceLinks links_;
  /// For each level; none if all halos go over links.
  std::vector<exchange::PartExchange> beside_links_;
  bool is_sent_ = false;  // the neighbours' sweeps send the halo of the next sweep
};

/// Returns why sweeps cannot send their own halos; nothing if they can, on every rank.
std::optional<std::string> no_links_because(const Runner& runner) {
  const Target& target = runner.target();
  if (!target.gpu) return fmt::format("backend {} cannot run it", target.backend->name());
  if (runner.the_case().sweeps_per_pass > 1) return "several sweeps a pass are wanted";
  if (runner.the_case().brick.axes() > 0) return "the fields lie in bricks";
  const problem::Model& model = *runner.the_case().model;
  if (!model.only_field_with_halo())
    return "halos of several fields are exchanged, of none, or of one that follows another";
  if (model.ghosts_change() && model.reads_diagonally())
    return "its update reads ghosts beside halos, which have to be made anew after each exchange";
  if (const std::size_t fields = runner.the_case().exchanged_fields().size(); fields > 1)
    return fmt::format(
        "with a halo depth of {} the halos of {} fields are exchanged, and sweeps send only one's",
        runner.the_case().halo_depth, fields);
  const Levels& levels = runner.levels();
  if (auto why = links::FaceLinks::unavailable(runner.communicator(), runner.exchange_grid(),
                                               levels[0][0]))
    return why;
  if (auto why = runner.kernels_cannot_reach_because(Runner::Neighbour::on_node)) return why;
  if (runner.communicator().node_count() > 1 && !runner.calls_between_nodes())
    return "other nodes need the host in every exchange";
  const std::int64_t rows =
      target.gpu->ranks_on_gpu == 1
          ? runner.sweep().rows_of_pushing_tile(levels[0], runner.coefficients(), levels[1])
          : 0;
  const std::int64_t most = comm::max_over_ranks(runner.communicator(), rows);
  const std::int64_t fewest = -comm::max_over_ranks(runner.communicator(), -rows);
  if (fewest == 0)
    return "ranks share a GPU, rows do not begin on 16-byte boundaries, or no kernel that sends "
           "halos has room for all that its update reads";
  if (fewest < most) return "the ranks' GPUs, of several kinds, run different kernels";
  return std::nullopt;
}

class Fused final : public Schedule {
 public:
  std::string_view name() const override { return "fused"; }
  std::string_view needs() const override {
    return "transport peer within nodes (between them nccl or nvshmem), one GPU for each rank and "
           "a process grid that splits the last axis";
  }
  MadeStepper make(Runner& runner) const override {
    if (auto why_not = no_links_because(runner)) return {.stepper = {}, .why_not = *why_not};
    MadeStepper made;
    try {
      comm::together(runner.communicator(),
                     [&] { made.stepper = std::make_unique<FusedStepper>(runner); });
    } catch (const Error& error) {
      made = {.stepper = {}, .why_not = error.what(), .reason = MadeStepper::Reason::failed};
    }
    return made;
  }
  /// An exchange after a sweep is not hidden behind the interior, as `overlap` hides it. Deep
  /// halos of small subdomains come faster by an exchange: star7 with 128^3 cells in fp32 on each
  /// of two H200, 8 deep, takes 8.6 us a sweep, `sequential` 7.8; with 512^3 in fp64 606 and 608
  /// (bench/results/h200x2/gpu-deep-halos.txt).
  bool is_preferred(const Runner& runner) const override {
    return runner.the_case().halo_depth == 1 &&
           halos_by_sweeps(runner) == SolveResult::HalosBySweeps::all;
  }
  bool is_about_halos() const override { return true; }
  SolveResult::HalosBySweeps halos_by_sweeps(const Runner& runner) const override {
    return links::all_are_linked(runner.communicator(), runner.exchange_grid())
               ? SolveResult::HalosBySweeps::all
               : SolveResult::HalosBySweeps::some;
  }
};

}  // namespace

const Schedule& fused_schedule() {
  static const Fused schedule;
  return schedule;
}

}  // namespace halocline::solver
