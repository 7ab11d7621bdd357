// SPDX-License-Identifier: Apache-2.0
#pragma once
// Times combinations of field layouts, ways to move halos, and sweeps per exchange, by the solver's
// own loop.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <halocline/communicator.hpp>
#include <halocline/run_result.hpp>

#include "report/report.hpp"
#include "solver/case.hpp"

namespace halocline::bench {

struct LayoutBenchOptions {
  std::string problem = "star7";
  Extents cells_per_rank;                              ///< empty: usual_cells()
  std::string precision;                               ///< "f32", "f64"; empty: the problem's own
  Extents process_grid;                                ///< empty: as near to a cube as possible
  std::vector<std::string> layouts{"array", "brick"};  ///< see SolveOptions::layout
  /// Transports, and ways of halo_ways.hpp; empty: all usable ones.
  std::vector<std::string> ways;
  std::vector<std::int64_t> steps{1, 8};  ///< sweeps per exchange
  std::int64_t sweeps = 32;               ///< of a repetition: a multiple of all of `steps`
  std::int64_t repetitions = 5;           ///< at most, of each combination
  std::string backend = "auto";           ///< "auto", "cuda", "cpu"
  int threads = 0;                        ///< of each rank; 0: its share of the cores
  std::optional<std::string> proofs;      ///< as ExchangeOptions::proofs
};

enum class Processors { gpus, cpus };

/// Returns cells of a rank with relatively small halos: more on GPUs, where sweeps are fast.
Extents usual_cells(int axes, Processors processors);

/// A layout with a halo for several sweeps.
struct LayoutCase {
  std::string layout;
  std::int64_t steps = 1;
  solver::Case the_case;
};

/// Lists the cases for a number of ranks, layouts outermost. They share their model. Throws usage
/// for invalid options, without MPI.
std::vector<LayoutCase> layout_cases(const LayoutBenchOptions& options, int ranks,
                                     Processors processors);

/// Statistics of a quantity over ranks.
struct RankSpread {
  double min = 0, mean = 0, max = 0;
  double deviation = 0;  ///< standard deviation
};
RankSpread spread_of(const std::vector<double>& ranks);

/// Phases in the report; pack includes unpacking.
inline constexpr std::array<std::string_view, 5> layout_phases = {"calc", "pack", "move", "call",
                                                                  "wait"};

/// Result of one combination; the same on every rank.
struct LayoutTiming {
  std::string way, layout;
  std::int64_t steps = 1;
  Extents brick;  ///< empty: in rows
  std::string memory;
  std::int64_t messages = 0, bytes = 0;  ///< of one exchange, to other ranks, of the busiest rank
  std::int64_t needed_bytes = 0;         ///< without bytes that only share a brick with the halo
  /// Mapped into a level's messages; 0: messages are packed or copied.
  std::int64_t pieces = 0;
  double redundant = 0;                     ///< redundant updates per real one, of the busiest rank
  std::optional<std::string> wrong{};       ///< how the result differs; then there are no times
  std::vector<double> seconds_per_sweep{};  ///< by repetition, the slowest rank's
  double best_seconds = 0, median_seconds = 0, worst_seconds = 0;
  /// Seconds of a sweep by phase, of the median repetition. Phases on GPUs may overlap.
  std::array<RankSpread, layout_phases.size()> phases{};
  double glups = 0;  ///< of all ranks, by the median; without redundant updates
};

/// Comparison of a layout's usual kernel with the plainest kernel of the backend, in the fastest
/// combination with the fewest steps, where redundant updates matter least.
struct KernelGain {
  std::string layout, way;
  std::int64_t steps = 1;
  std::optional<std::string> wrong{};     ///< how the plain kernel's result differs
  double seconds = 0, plain_seconds = 0;  ///< `calc` of a sweep, the slowest rank's
};

struct LayoutBenchResult {
  std::string problem, precision, backend, mpi;
  Extents cells_per_rank, cells, process_grid;
  std::int64_t sweeps = 0, repetitions = 0;
  int ranks = 0, nodes = 0, threads = 0;
  std::vector<RunDevice> devices{};
  std::string reference{};     ///< name of the reference that computed the plain run
  std::uint64_t checksum = 0;  ///< of its first field, after `sweeps` + 1
  std::vector<LayoutTiming> timings{};
  std::vector<KernelGain> kernels{};  ///< for each layout that was timed, if there is a plain one
  std::string plain{};                ///< description of the plain kernel
  std::vector<std::string> notes{};
};

/// Sets medians and rates. Pure; at least one time.
void summarize(LayoutTiming& timing, double cells);

/// Compares each combination's result with a plain run, bit by bit, and times it. Leaves out what
/// is not available here, with a note. Collective. Throws usage, unavailable if nothing can be
/// timed, resource or communication, the same on every rank.
LayoutBenchResult run_layout_bench(const Communicator& communicator,
                                   const LayoutBenchOptions& options);

/// Throws the usage errors of run_layout_bench(), without MPI.
void check(const LayoutBenchOptions& options, int ranks);

Report report_of(const LayoutBenchResult& result);
/// Returns the first combination whose result differs, in words; nothing if none does.
std::optional<std::string> wrong_of(const LayoutBenchResult& result);
/// "staged with layout brick and 8 sweeps per exchange".
std::string name_of(const std::string& way, const std::string& layout, std::int64_t steps);
std::string name_of(const LayoutTiming& timing);
std::string name_of(const KernelGain& kernel);
/// Follows the name of a way in names of runs by the plain kernel.
inline constexpr const char* by_plain_kernel = ", by the plain kernel,";

}  // namespace halocline::bench
