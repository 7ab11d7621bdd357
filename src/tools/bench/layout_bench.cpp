// SPDX-License-Identifier: Apache-2.0
#include "bench/layout_bench.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/text/format.hpp"
#include "base/text/notes.hpp"
#include "base/text/words.hpp"
#include "bench/layout_trial.hpp"
#include "bench/usable_ways.hpp"
#include "comm/collectives.hpp"
#include "device/gpu.hpp"
#include "machine/cores.hpp"
#include "program/shares.hpp"
#include "solver/engine/levels.hpp"
#include "solver/memory.hpp"
#include "solver/reference_solve.hpp"
#include "solver/verify.hpp"
#include "timing/harness.hpp"

namespace halocline::bench {
namespace {

// One combination may take a thousand times as long as another.
constexpr double most_seconds = 20;

/// Checksums of all fields.
using Checksums = std::vector<std::uint64_t>;

class LayoutBench {
 public:
  LayoutBench(const Communicator& communicator, const LayoutBenchOptions& options)
      : communicator_(communicator), options_(options) {}

  LayoutBenchResult run() {
    choose_target();
    comm::together(communicator_, [&] {
      cases_ = layout_cases(options_, communicator_.size(),
                            target_->gpu ? Processors::gpus : Processors::cpus);
    });
    describe_run();
    timing::note_crowding(communicator_, notes_);
    const WaysAsked asked{.names = options_.ways,
                          .the_case = cases_[0].the_case,
                          .target = target_,
                          .proofs = options_.proofs};
    const std::vector<UsableWay> ways = usable_ways(communicator_, asked, notes_);
    solve_plain();
    for (const UsableWay& way : ways)
      for (const LayoutCase& layout : cases_) try_out(way, layout);
    compare_kernels(ways);
    if (result_.timings.empty())
      throw Error(ErrorKind::unavailable,
                  fmt::format("nothing can be timed: {}", notes_.all().back()));
    result_.notes = notes_.all();
    return std::move(result_);
  }

 private:
  enum class Kernels { usual, plain };

  void choose_target() {
    SolveOptions where;
    where.backend = options_.backend;
    target_ =
        std::make_shared<const solver::Target>(solver::choose_target(communicator_, where, notes_));
    sweep_options_ = {.threads = options_.threads > 0 ? options_.threads
                                                      : machine::default_threads(communicator_),
                      .ranks_on_node = communicator_.node_size(),
                      .communicator = &communicator_};
  }

  void describe_run() {
    const solver::Case& the_case = cases_[0].the_case;
    const Grid grid(communicator_, the_case.grid);
    result_.problem = options_.problem;
    result_.precision = name_of(the_case.precision());
    result_.backend = target_->backend->name();
    result_.mpi = comm::library_version();
    result_.cells = grid.cells();
    result_.cells_per_rank = Extents(grid.owned(0).extent(), grid.axes());
    result_.process_grid = grid.process_grid();
    result_.sweeps = options_.sweeps;
    result_.repetitions = options_.repetitions;
    result_.ranks = communicator_.size();
    result_.nodes = communicator_.node_count();
    result_.threads = sweep_options_.threads;
    result_.devices = solver::devices_of(communicator_, *target_);
  }

  /// Throws resource on rank 0 if the whole domain does not fit there.
  void check_room_for_plain(const solver::Reference& reference) const {
    solver::Case alone = cases_[0].the_case;
    alone.halo_depth = 1;
    alone.grid.process_grid = {};
    const Grid grid(0, 1, alone.grid);
    const bool on_gpu = reference.memory == Memory::device;
    const double wanted = solver::bytes_of_all(alone, grid);
    const auto free = static_cast<double>(on_gpu ? device::gpu_memory().free_bytes
                                                 : solver::node_memory().available_bytes);
    if (wanted > free)
      throw Error(
          ErrorKind::resource,
          fmt::format("the plain run on one rank, which all results are compared with, takes {} "
                      "for the whole domain, but rank 0 has {} free{}; use fewer cells per rank",
                      bytes_text(wanted), bytes_text(free), on_gpu ? " on its GPU" : ""));
  }

  /// Solves on one rank with rows, as the reference for all combinations.
  void solve_plain() {
    solver::Case in_rows = cases_[0].the_case;
    in_rows.brick = {};
    const std::int64_t sweeps = options_.sweeps + 1;
    stencil::SweepOptions alone = sweep_options_;
    alone.communicator = nullptr;
    const solver::Reference reference = solver::choose_reference(in_rows, sweeps, *target_, alone);
    plain_checksums_.assign(in_rows.model->fields.size(), 0);
    comm::on_first_rank(communicator_, [&] {
      check_room_for_plain(reference);
      plain_ = solver::solve_on_one_rank(in_rows, sweeps, reference);
      GridOptions whole = in_rows.grid;
      whole.process_grid = {};
      for (std::size_t f = 0; f < plain_checksums_.size(); ++f)
        plain_checksums_[f] =
            program::checksum(plain_->fields[f], Grid(0, 1, whole), sweep_options_.threads);
    });
    plain_checksums_ = comm::sum_over_ranks(communicator_, plain_checksums_);
    result_.reference = reference.name;
    result_.checksum = plain_checksums_[0];
  }

  /// Returns null, with a note, if there is no such kernel.
  stencil::Sweep* sweep_for(const LayoutCase& layout, Kernels kernels) {
    const std::pair which{layout.the_case.brick.axes() > 0, kernels};
    const auto known = sweeps_.find(which);
    if (known != sweeps_.end()) return known->second.get();
    std::unique_ptr<stencil::Sweep> sweep;
    stencil::SweepOptions options = sweep_options_;
    options.in_bricks = which.first;
    options.plain = kernels == Kernels::plain;
    try {
      comm::together(communicator_,
                     [&] { sweep = target_->backend->make(*layout.the_case.model, options); });
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unavailable) throw;
      notes_.add(fmt::format("{}layout {} is left out: {}",
                             kernels == Kernels::plain ? "the plain kernel of " : "", layout.layout,
                             error.what()));
    }
    return sweeps_.emplace(which, std::move(sweep)).first->second.get();
  }

  Checksums checksums_of(const LayoutTrial& trial) const {
    Checksums mine;
    for (const FieldStorage& field : trial.newest())
      mine.push_back(program::checksum(field, trial.runner().grid(), sweep_options_.threads));
    return comm::sum_over_ranks(communicator_, mine);
  }

  /// Returns the difference from the plain run, or nothing. Collective.
  std::optional<std::string> difference(const LayoutTrial& trial) const {
    const Checksums checksums = checksums_of(trial);
    if (checksums == plain_checksums_) return std::nullopt;
    const std::vector<std::pair<std::int64_t, double>> no_norms;
    const SolveResult::Verification cells =
        solver::compare({.communicator = communicator_,
                         .the_case = trial.runner().the_case(),
                         .grid = trial.runner().grid(),
                         .fields = trial.newest(),
                         .norm_history = no_norms,
                         .expected = plain_ ? &*plain_ : nullptr,
                         .reference = result_.reference});
    return fmt::format("checksum {:016x} instead of {:016x}: {}", checksums[0], result_.checksum,
                       cells.text);
  }

  /// Compares the state after the timed sweeps, which are the same for all combinations.
  /// Collective.
  std::optional<std::string> difference_at_end(const LayoutTrial& trial,
                                               const LayoutTiming& timing) {
    const Checksums checksums = checksums_of(trial);
    if (timing.seconds_per_sweep.size() < static_cast<std::size_t>(options_.repetitions))
      return std::nullopt;  // fewer sweeps
    if (!end_) end_ = {name_of(timing), checksums};
    if (checksums == end_->second) return std::nullopt;
    return fmt::format("after the repetitions its checksum is {:016x}, but {:016x} with {}",
                       checksums[0], end_->second[0], end_->first);
  }

  /// Adds the times of all ranks.
  void add(const std::vector<LayoutTrial::Times>& mine, LayoutTiming& timing) {
    const auto sweeps = static_cast<double>(options_.sweeps);
    for (const LayoutTrial::Times& times : mine)
      timing.seconds_per_sweep.push_back(comm::max_over_ranks(communicator_, times.loop) / sweeps);
    summarize(timing, static_cast<double>(cases_[0].the_case.cells()));
    const auto median = std::find(timing.seconds_per_sweep.begin(), timing.seconds_per_sweep.end(),
                                  timing.median_seconds);
    const auto& phases =
        mine[static_cast<std::size_t>(median - timing.seconds_per_sweep.begin())].phases;
    for (std::size_t p = 0; p < phases.size(); ++p)
      timing.phases[p] = spread_of(comm::gather_all(communicator_, phases[p] / sweeps));
  }

  void repeat(LayoutTrial& trial, LayoutTiming& timing, double seconds_each) {
    const std::int64_t most =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(most_seconds / seconds_each));
    if (most < options_.repetitions)
      notes_.add(fmt::format("{}: {} alone, since one takes {}", name_of(timing),
                             counted(most, "repetition"),
                             write_number(seconds_each, Format::time())));
    std::vector<LayoutTrial::Times> times;
    for (std::int64_t i = 0; i < std::min(most, options_.repetitions); ++i)
      times.push_back(trial.run(options_.sweeps));
    add(times, timing);
  }

  LayoutTiming time(const LayoutTrialParts& parts) {
    LayoutTrial trial(parts);
    const solver::Runner& runner = trial.runner();
    LayoutTiming timing{
        .way = parts.way.name,
        .layout = parts.layout.layout,
        .steps = parts.layout.steps,
        .brick = parts.layout.the_case.brick,
        .memory = std::string(name_of(parts.way.target->memory)),
        .messages = comm::max_over_ranks(communicator_, trial.messages()),
        .bytes = comm::max_over_ranks(communicator_, trial.bytes()),
        .needed_bytes = comm::max_over_ranks(communicator_, runner.exchange_info().bytes),
        .pieces = comm::max_over_ranks(communicator_, trial.pieces()),
        .redundant = comm::max_over_ranks(
            communicator_, solver::redundant_updates(runner.the_case(), runner.exchange_grid()))};
    for (const std::string& note : runner.notes().all()) notes_.add(note);
    const double seconds = comm::max_over_ranks(communicator_, trial.run(options_.sweeps).loop);
    timing.wrong = difference(trial);
    if (timing.wrong) return timing;
    repeat(trial, timing, seconds);
    timing.wrong = difference_at_end(trial, timing);
    return timing;
  }

  LayoutTrialParts parts_of(const UsableWay& way, const LayoutCase& layout,
                            stencil::Sweep& sweep) const {
    return {.communicator = communicator_,
            .layout = layout,
            .way = way,
            .sweep = sweep,
            .proofs = options_.proofs,
            .threads = sweep_options_.threads};
  }

  void compare_kernels(const std::vector<UsableWay>& ways) {
    const std::int64_t fewest = *std::min_element(options_.steps.begin(), options_.steps.end());
    std::map<std::string, const LayoutTiming*> fastest;
    for (const LayoutTiming& timing : result_.timings) {
      if (timing.wrong || timing.steps != fewest) continue;
      const LayoutTiming*& best = fastest[timing.layout];
      if (best == nullptr || timing.median_seconds < best->median_seconds) best = &timing;
    }
    for (const LayoutCase& layout : cases_) {
      const auto best = fastest.find(layout.layout);
      if (best == fastest.end() || layout.steps != fewest) continue;
      const auto way = std::find_if(ways.begin(), ways.end(), [&](const UsableWay& one) {
        return one.name == best->second->way;
      });
      try {
        compare_kernels(*way, layout);
      } catch (const Error& error) {  // the same on every rank
        if (error.kind() != ErrorKind::unavailable && error.kind() != ErrorKind::resource) throw;
        notes_.add(fmt::format("the plain kernel is left out with layout {}: {}", layout.layout,
                               error.what()));
      }
    }
  }

  void compare_kernels(const UsableWay& way, const LayoutCase& layout) {
    KernelGain gain{.layout = layout.layout, .way = way.name, .steps = layout.steps};
    for (const Kernels kernels : {Kernels::usual, Kernels::plain}) {
      stencil::Sweep* const sweep = sweep_for(layout, kernels);
      if (sweep == nullptr) return;
      UsableWay named = way;
      if (kernels == Kernels::plain) named.name += by_plain_kernel;
      const LayoutTiming timing = time(parts_of(named, layout, *sweep));
      (kernels == Kernels::plain ? gain.plain_seconds : gain.seconds) = timing.phases[0].max;
      if (!gain.wrong) gain.wrong = timing.wrong;
      result_.plain = sweep->simd().empty() ? "a thread updates a cell, and reads all that it takes"
                                            : fmt::format("as with --simd {}", sweep->simd());
    }
    result_.kernels.push_back(std::move(gain));
  }

  /// Adds a timing, or a note if the combination is not available.
  void try_out(const UsableWay& way, const LayoutCase& layout) {
    if (way.own != nullptr)
      if (const auto why_not = way.own->why_not_cells(
              {communicator_, layout.the_case, *way.target, options_.proofs}))
        return notes_.add(fmt::format("way {} is left out with layout {}: {}", way.name,
                                      layout.layout, *why_not));
    stencil::Sweep* const sweep = sweep_for(layout, Kernels::usual);
    if (sweep == nullptr) return;
    try {
      result_.timings.push_back(time(parts_of(way, layout, *sweep)));
    } catch (const Error& error) {  // the same on every rank
      if (error.kind() != ErrorKind::unavailable && error.kind() != ErrorKind::resource) throw;
      notes_.add(fmt::format("{} is left out: {}", name_of(way.name, layout.layout, layout.steps),
                             error.what()));
    }
  }

  Communicator communicator_;
  LayoutBenchOptions options_;
  std::shared_ptr<const solver::Target> target_;
  std::vector<LayoutCase> cases_;
  stencil::SweepOptions sweep_options_;
  // By: over bricks or over rows, kernels.
  std::map<std::pair<bool, Kernels>, std::unique_ptr<stencil::Sweep>> sweeps_;
  std::optional<solver::ReferenceResult> plain_;  // on rank 0
  Checksums plain_checksums_;
  std::optional<std::pair<std::string, Checksums>> end_;  // of the first combination timed
  Notes notes_;
  LayoutBenchResult result_;
};

}  // namespace

RankSpread spread_of(const std::vector<double>& ranks) {
  const auto count = static_cast<double>(ranks.size());
  RankSpread spread{.min = *std::min_element(ranks.begin(), ranks.end()),
                    .mean = std::accumulate(ranks.begin(), ranks.end(), 0.0) / count,
                    .max = *std::max_element(ranks.begin(), ranks.end())};
  double squares = 0;
  for (const double value : ranks) squares += (value - spread.mean) * (value - spread.mean);
  spread.deviation = std::sqrt(squares / count);
  return spread;
}

void summarize(LayoutTiming& timing, double cells) {
  std::vector<double> sorted = timing.seconds_per_sweep;
  std::sort(sorted.begin(), sorted.end());
  timing.best_seconds = sorted.front();
  timing.median_seconds = timing::percentile(sorted, 50);
  timing.worst_seconds = sorted.back();
  timing.glups = timing.median_seconds > 0 ? cells / timing.median_seconds / 1e9 : 0;
}

LayoutBenchResult run_layout_bench(const Communicator& communicator,
                                   const LayoutBenchOptions& options) {
  return LayoutBench(communicator, options).run();
}

}  // namespace halocline::bench
