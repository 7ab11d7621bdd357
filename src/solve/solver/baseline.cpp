// SPDX-License-Identifier: Apache-2.0
#include "solver/baseline.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/text/format.hpp"
#include "base/text/words.hpp"
#include "comm/collectives.hpp"
#include "program/shares.hpp"
#include "solver/engine/levels.hpp"
#include "solver/engine/tuning.hpp"

namespace halocline::solver {
namespace {

// Two identical runs differ by a few percent.
constexpr double most_speedup_per_rank = 1.05;

/// Drops the halo depth, since one rank sends no messages, and the tolerance: one rank adds up an
/// L2 norm in another order, which might stop the run a sweep earlier or later.
Case case_of_one_rank(const BaselineParts& parts, const Communicator& self) {
  Case the_case = parts.the_case;
  the_case.sweeps = parts.sweeps;
  the_case.tolerance.reset();
  the_case.halo_depth = 1;
  the_case.grid.expected_halo = the_case.halo();
  the_case.grid.process_grid = {};
  the_case.sweeps_per_pass = 1;
  if (parts.sweeps_per_pass > 1) allow_passes(the_case, parts.sweeps_per_pass, self);
  return the_case;
}

SolveOptions options_of_one_rank(SolveOptions options) {
  options.transport = "auto";
  if (options.schedule != "auto" && find_schedule(options.schedule).is_about_halos())
    options.schedule = "auto";
  return options;
}

/// The other ranks leave this rank's GPU idle meanwhile.
Target target_of_one_rank(Target target, int rank) {
  if (!target.gpu) return target;
  machine::GpuBinding::Row mine = target.gpu->map[static_cast<std::size_t>(rank)];
  mine.rank = mine.node = 0;
  target.gpu->ranks_on_gpu = mine.ranks_on_gpu = 1;
  target.gpu->map = {mine};
  return target;
}

/// Falls back to automatic choices where one rank cannot run the schedule or graphs that the
/// options name. `options` are those of `parts`.
Chosen choose_execution_of_one_rank(const TuningParts& parts, SolveOptions& options, Notes& notes) {
  try {
    return choose_execution(parts, notes);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unavailable) throw;
    notes.add(error.what());
  }
  options.schedule = "auto";
  options.graph = SolveOptions::Graphs::automatic;
  return choose_execution(parts, notes);
}

/// Adds what rank 0 found, on all ranks; the others have no baseline.
void add_notes(const Communicator& communicator, const Baseline& baseline,
               const SolveResult& result, Notes& notes) {
  const std::uint64_t checksum = comm::sum_over_ranks(communicator, baseline.checksum);
  if (checksum != result.checksum)
    notes.add(fmt::format("the result of the baseline differs: its checksum is {:016x}", checksum));
  const auto mine = static_cast<std::int64_t>(baseline.notes.all().size());
  const std::int64_t count = comm::max_over_ranks(communicator, mine);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::string note = comm::broadcast(
        communicator, i < mine ? baseline.notes.all()[static_cast<std::size_t>(i)] : "", 0);
    // The notes of the run already have it.
    const std::vector<std::string>& known = notes.all();
    if (std::find(known.begin(), known.end(), note) == known.end())
      notes.add(fmt::format("baseline: {}", note));
  }
}

}  // namespace

Baseline run_baseline(const BaselineParts& parts) {
  const Communicator self = Communicator::self(parts.communicator.options());
  const Case the_case = case_of_one_rank(parts, self);
  SolveOptions options = options_of_one_rank(parts.options);
  const Target target = target_of_one_rank(parts.target, parts.communicator.rank());
  stencil::SweepOptions sweep_options = parts.sweep;
  sweep_options.ranks_on_node = 1;
  sweep_options.sweeps_per_pass = the_case.sweeps_per_pass;
  sweep_options.largest_part.reset();
  const auto sweep = target.backend->make(*the_case.model, sweep_options);
  Baseline result;
  const Chosen chosen = choose_execution_of_one_rank({.communicator = self,
                                                      .the_case = the_case,
                                                      .options = options,
                                                      .target = target,
                                                      .sweep = *sweep,
                                                      .threads = sweep_options.threads},
                                                     options, result.notes);
  Runner& runner = *chosen.runner;
  for (const std::string& note : runner.notes().all()) result.notes.add(note);
  runner.fill(sweep_options.threads);
  const LoopResult done =
      runner.run(the_case, chosen.execution, [](std::int64_t, const Stopping&) {}).loop;
  result.schedule = chosen.execution.schedule->name();
  result.bytes = bytes_of_all(the_case, runner.grid());
  result.sweeps = done.sweeps;
  result.sweeps_in_graphs = done.sweeps_in_graphs;
  if (done.sweeps > 1) result.loop_seconds = done.loop_seconds;
  result.checksum = program::checksum(seen_by_host(runner.levels()[done.level], runner.grid())[0],
                                      runner.grid(), sweep_options.threads);
  return result;
}

std::optional<std::string> note_on_speedup(const RunsCompared& runs) {
  if (runs.speedup() <= most_speedup_per_rank * runs.ranks) return std::nullopt;
  const auto time = [](double seconds) { return write_number(seconds, Format::time()); };
  if (runs.ranks == 1)
    return fmt::format(
        "the same sweeps on one rank took {} as the run and {} as its baseline: times vary that "
        "much here; those of longer runs vary less",
        time(runs.all_seconds), time(runs.one_seconds));
  const auto bytes = [](double value) { return write_number(value, Format::bytes()); };
  const bool same = runs.one_schedule == runs.all_schedule;
  return fmt::format(
      "the speed-up of {:.2f} on {} is more than linear: the same sweeps took {} on one rank{}, {} "
      "on {}{}. The usual reason is caches: the fields take {} on one rank, {} on each of {}, "
      "and sweeps over fields that fit in a cache are faster",
      runs.speedup(), counted(runs.ranks, "rank"), time(runs.one_seconds),
      same ? "" : fmt::format(" (schedule {})", runs.one_schedule), time(runs.all_seconds),
      runs.ranks, same ? "" : fmt::format(" (schedule {})", runs.all_schedule),
      bytes(runs.one_bytes), bytes(runs.all_bytes), runs.ranks);
}

void compare_with_baseline(const BaselineParts& parts, const Grid& grid, SolveResult& result,
                           Notes& notes) {
  const Communicator& communicator = parts.communicator;
  Baseline baseline;
  comm::on_first_rank(communicator, [&] {
    try {
      baseline = run_baseline(parts);
    } catch (const Error& error) {
      throw Error(error.kind(), fmt::format("the baseline on one rank: {}", error.what()));
    }
  });
  // The other ranks have zeros.
  const RunsCompared runs{
      .ranks = communicator.size(),
      .one_seconds = comm::max_over_ranks(communicator, baseline.loop_seconds),
      .all_seconds = result.loop_seconds,
      .one_bytes = comm::max_over_ranks(communicator, baseline.bytes),
      .all_bytes = comm::max_over_ranks(communicator, bytes_of_all(parts.the_case, grid)),
      .one_schedule = comm::broadcast(communicator, baseline.schedule, 0),
      .all_schedule = result.schedule};
  result.baseline = {.seconds = runs.one_seconds,
                     .speedup = runs.speedup(),
                     .efficiency = runs.speedup() / runs.ranks,
                     .schedule = runs.one_schedule};
  add_notes(communicator, baseline, result, notes);
  if (const auto note = note_on_speedup(runs)) notes.add(*note);
}

}  // namespace halocline::solver
