// SPDX-License-Identifier: Apache-2.0
#pragma once
// Times sweeps on different numbers of ranks: strong and weak scaling of the solver's own loop.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <halocline/communicator.hpp>
#include <halocline/solver.hpp>

#include "report/report.hpp"

namespace halocline::bench {

struct StepBenchOptions {
  std::string problem = "laplace";
  std::vector<Extents> cells;           ///< of the whole grid: strong scaling
  std::vector<Extents> cells_per_rank;  ///< weak scaling; both empty: the problem's own cells
  std::vector<int> ranks;               ///< empty: 1, 2, 4, ... and all
  /// Each is used for its number of ranks. An empty grid, and numbers of ranks without a grid, use
  /// the default of SolveOptions.
  std::vector<Extents> process_grids;
  std::vector<std::int64_t> halo_depths{1};  ///< with several ranks
  // See SolveOptions; empty precisions: the problem's.
  std::vector<std::string> schedules{"auto"}, transports{"auto"}, graphs{"auto"}, precisions;
  std::vector<std::string> norms;            ///< empty: the problem's own
  std::vector<std::int64_t> norms_every{1};  ///< cases without a norm ignore it
  std::optional<std::int64_t> sweeps;        ///< of a repetition; default: the problem's
  std::int64_t repetitions = 5;              ///< of each case, each a solve from its start
  std::string backend = "auto";
  int threads = 0;  ///< of each rank, for any number of ranks; 0: its share with all ranks
  std::optional<std::string> proofs;
};

enum class Scaling { strong, weak };

/// A solve to be timed.
struct StepCase {
  Scaling scaling = Scaling::strong;
  int ranks = 1;
  SolveOptions solve;
};

/// Lists the cases: sizes outermost, then precisions, norms, numbers of ranks, process grids, halo
/// depths, schedules, transports and graphs. Throws usage for invalid options, without MPI.
std::vector<StepCase> step_cases(const StepBenchOptions& options, int ranks);

/// Result of one case.
struct StepTiming {
  Scaling scaling = Scaling::strong;
  Extents size;  ///< of the grid, or of each rank for weak scaling
  Extents cells, process_grid;
  int ranks = 1;
  std::string precision, norm, schedule;  ///< that ran
  std::int64_t norm_every = 1, halo_depth = 1;
  std::vector<std::pair<std::string, std::string>> transports;  ///< that ran, by kind of pair
  std::int64_t sweeps_in_graphs = 0;                            ///< of one repetition
  std::int64_t messages = 0, bytes = 0;     ///< of one exchange, to other ranks, of the busiest
  std::vector<double> seconds_per_sweep{};  ///< by repetition, without the first sweep of each
  /// Parts spent in exchanges and all-reduces of norms, including waits, mean over ranks; empty on
  /// GPUs, which overlap them with sweeps.
  std::vector<double> exchange_per_sweep{}, reduce_per_sweep{};
  double best_seconds = 0, median_seconds = 0, worst_seconds = 0;  ///< of seconds_per_sweep
  std::optional<double> exchange_seconds{}, reduce_seconds{};      ///< of the median repetition
  double glups = 0;                                                ///< by the median
  /// t1 / (ranks x t), for weak scaling t1 / t, with medians; t1 is the fastest of one rank with
  /// the same cells (weak: cells per rank), precision and norms. Nothing if one rank was not timed.
  std::optional<double> efficiency{};
  std::uint64_t checksum = 0;
  std::optional<std::string> wrong{};  ///< how it differs from another run of the same cells
};

/// Ranks and devices are those of the case with most ranks.
struct StepBenchResult {
  std::string problem, backend, memory, mpi;
  std::int64_t sweeps = 0, repetitions = 0;
  std::vector<int> ranks{};
  int nodes = 0, threads = 0;
  std::vector<RunDevice> devices{};
  std::vector<StepTiming> timings{};
  std::vector<std::string> notes{};
};

/// Sets medians, efficiencies and errors. Pure.
void compare(std::vector<StepTiming>& timings);

/// Solves each case repeatedly on its first ranks, while the others wait. Leaves out what is not
/// available here, with a note. Collective. Rank 0 has the result. Throws usage, unavailable if
/// nothing can be timed, resource or communication, the same on every rank.
StepBenchResult run_step_bench(const Communicator& communicator, const StepBenchOptions& options);

/// Throws the usage errors of run_step_bench(), without MPI.
void check(const StepBenchOptions& options, int ranks);

Report report_of(const StepBenchResult& result);
/// Returns the first measurement with a wrong result, in words; nothing if there is none.
std::optional<std::string> wrong_of(const StepBenchResult& result);
/// "4096x4096 on 4 ranks by peer".
std::string name_of(const StepTiming& timing);

}  // namespace halocline::bench
