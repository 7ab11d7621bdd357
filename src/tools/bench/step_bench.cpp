// SPDX-License-Identifier: Apache-2.0
#include "bench/step_bench.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/recorder.hpp"
#include "base/text/notes.hpp"
#include "base/text/words.hpp"
#include "comm/collectives.hpp"
#include "machine/cores.hpp"
#include "timing/harness.hpp"

namespace halocline::bench {
namespace {

/// Solves once. Throws usage if the values stop changing before the last sweep.
SolveResult solve_all(const Communicator& part, const SolveOptions& options) {
  SolveResult solved = solve(part, options);
  if (solved.converged)
    throw Error(ErrorKind::usage,
                fmt::format("after {} the values stop changing, so later sweeps would take other "
                            "times; use --sweeps {} or fewer, or more cells",
                            counted(solved.sweeps, "sweep"), solved.sweeps - 1));
  return solved;
}

/// Seconds of exchanges and of all-reduces in the loop, mean over ranks.
std::pair<double, double> seconds_apart(const SolveResult& solved) {
  double exchange = 0, reduce = 0;
  for (const auto& [phase, seconds] : solved.phases)
    if (phase == name_of(Phase::reduce))
      reduce += seconds.mean;
    else if (phase != name_of(Phase::compute))
      exchange += seconds.mean;
  return {exchange, reduce};
}

class StepBench {
 public:
  StepBench(const Communicator& communicator, const StepBenchOptions& options)
      : communicator_(communicator), options_(options) {
    if (options_.threads == 0) options_.threads = machine::default_threads(communicator);
  }

  StepBenchResult run() {
    std::vector<StepCase> cases;
    comm::together(communicator_, [&] { cases = step_cases(options_, communicator_.size()); });
    result_.problem = options_.problem;
    result_.mpi = comm::library_version();
    result_.repetitions = options_.repetitions;
    result_.threads = options_.threads;
    for (const StepCase& the_case : cases) result_.ranks.push_back(the_case.ranks);
    std::sort(result_.ranks.begin(), result_.ranks.end());
    result_.ranks.erase(std::unique(result_.ranks.begin(), result_.ranks.end()),
                        result_.ranks.end());
    for (const StepCase& the_case : cases) time(the_case);
    comm::on_first_rank(communicator_, [&] {
      if (result_.timings.empty()) throw Error(ErrorKind::unavailable, notes_.all()[0]);
      compare(result_.timings);
    });
    result_.notes = notes_.all();
    return std::move(result_);
  }

 private:
  const std::optional<Communicator>& first_ranks(int count) {
    if (!parts_.contains(count)) parts_.emplace(count, comm::first_ranks(communicator_, count));
    return parts_.at(count);
  }

  void time(const StepCase& the_case) {
    const std::optional<Communicator>& part = first_ranks(the_case.ranks);
    std::vector<SolveResult> solves;
    try {
      comm::on_first_ranks(communicator_, the_case.ranks, [&] {
        for (std::int64_t i = 0; i < options_.repetitions; ++i)
          solves.push_back(solve_all(*part, the_case.solve));
      });
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unavailable) throw;
      notes_.add(fmt::format("{}: {}", counted(the_case.ranks, "rank"), error.what()));
      return;
    }
    if (communicator_.rank() == 0) take(the_case, solves);
  }

  void take(const StepCase& the_case, const std::vector<SolveResult>& solves) {
    const SolveResult& solved = solves[0];
    const bool weak = the_case.scaling == Scaling::weak;
    StepTiming timing{.scaling = the_case.scaling,
                      .size = weak ? the_case.solve.cells_per_rank : solved.cells,
                      .cells = solved.cells,
                      .process_grid = solved.process_grid,
                      .ranks = the_case.ranks,
                      .precision = solved.precision,
                      .norm = solved.norm,
                      .schedule = solved.schedule,
                      .norm_every = the_case.solve.norm_every.value_or(1),
                      .halo_depth = solved.halo_depth,
                      .transports = solved.transports,
                      .sweeps_in_graphs = solved.sweeps_in_graphs,
                      .messages = solved.halo_messages,
                      .bytes = solved.halo_bytes,
                      .checksum = solved.checksum};
    for (const SolveResult& one : solves) {
      const auto sweeps = static_cast<double>(one.sweeps - 1);
      timing.seconds_per_sweep.push_back(one.loop_seconds / sweeps);
      if (one.backend != "cuda") {
        const auto [exchange, reduce] = seconds_apart(one);
        timing.exchange_per_sweep.push_back(exchange / sweeps);
        timing.reduce_per_sweep.push_back(reduce / sweeps);
      }
      if (one.checksum != solved.checksum)
        timing.wrong = fmt::format("checksum {:016x} of one repetition, {:016x} of another",
                                   solved.checksum, one.checksum);
      if (one.diverged)
        timing.wrong =
            fmt::format("the norm of sweep {} is not finite", one.norm_history.back().first);
      // Only with most ranks: fewer ranks leave GPUs idle on purpose, which exchanges note.
      if (the_case.ranks == result_.ranks.back())
        for (const std::string& note : one.notes) notes_.add(note);
    }
    result_.timings.push_back(std::move(timing));
    result_.sweeps = solved.sweeps;
    if (the_case.ranks < most_ranks_) return;
    most_ranks_ = the_case.ranks;
    result_.backend = solved.backend;
    result_.memory = solved.memory;
    result_.devices = solved.devices;
    result_.nodes = solved.nodes;
  }

  Communicator communicator_;
  StepBenchOptions options_;
  std::map<int, std::optional<Communicator>> parts_;  // by their size
  int most_ranks_ = 0;                                // of the cases that were timed
  Notes notes_;
  StepBenchResult result_;
};

void summarize(StepTiming& timing) {
  std::vector<double> sorted = timing.seconds_per_sweep;
  std::sort(sorted.begin(), sorted.end());
  timing.best_seconds = sorted.front();
  timing.median_seconds = timing::percentile(sorted, 50);
  timing.worst_seconds = sorted.back();
  double cells = 1;
  for (int axis = 0; axis < timing.cells.axes(); ++axis)
    cells *= static_cast<double>(timing.cells[axis]);
  for (std::size_t i = 0; i < timing.exchange_per_sweep.size(); ++i)
    if (timing.seconds_per_sweep[i] == timing.median_seconds) {
      timing.exchange_seconds = timing.exchange_per_sweep[i];
      timing.reduce_seconds = timing.reduce_per_sweep[i];
    }
  timing.glups = timing.median_seconds > 0 ? cells / timing.median_seconds / 1e9 : 0;
}

bool is_same_work(const StepTiming& a, const StepTiming& b) {
  return a.scaling == b.scaling && a.size == b.size && a.precision == b.precision &&
         a.norm == b.norm && a.norm_every == b.norm_every;
}

void find_efficiency(StepTiming& timing, const std::vector<StepTiming>& timings) {
  std::optional<double> alone;
  for (const StepTiming& other : timings)
    if (other.ranks == 1 && is_same_work(timing, other))
      alone = std::min(alone.value_or(other.median_seconds), other.median_seconds);
  if (!alone || timing.median_seconds <= 0) return;
  timing.efficiency =
      *alone / timing.median_seconds / (timing.scaling == Scaling::strong ? timing.ranks : 1);
}

}  // namespace

void compare(std::vector<StepTiming>& timings) {
  for (StepTiming& timing : timings) summarize(timing);
  for (StepTiming& timing : timings) {
    find_efficiency(timing, timings);
    // Results for equal cells and sweeps are bitwise equal for any number of ranks.
    const auto first = std::find_if(timings.begin(), timings.end(), [&](const StepTiming& other) {
      return other.cells == timing.cells && other.precision == timing.precision;
    });
    if (first->checksum != timing.checksum && !timing.wrong)
      timing.wrong = fmt::format("checksum {:016x}, but {:016x} on {}", timing.checksum,
                                 first->checksum, counted(first->ranks, "rank"));
  }
}

StepBenchResult run_step_bench(const Communicator& communicator, const StepBenchOptions& options) {
  return StepBench(communicator, options).run();
}

}  // namespace halocline::bench
