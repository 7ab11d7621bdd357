// SPDX-License-Identifier: Apache-2.0
#pragma once
// Solving the built-in problems: what `halocline solve` does, as a function.

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <halocline/communicator.hpp>
#include <halocline/exchange.hpp>
#include <halocline/grid.hpp>
#include <halocline/memory.hpp>
#include <halocline/norm.hpp>
#include <halocline/precision.hpp>
#include <halocline/run_result.hpp>

namespace halocline {

/// What to solve and how. Everything left out is the problem's own default, or chosen.
///
/// What the library fixes is an enum. Problems, backends, transports, schedules and vector levels
/// are names: each is an entry of a registry (a folder and a row of a table), and a later version
/// has more of them without a change here. Names that are unknown are usage errors that list
/// those there are.
struct SolveOptions {
  std::string problem;
  Extents cells;           ///< the unknowns; boundary values lie outside
  Extents cells_per_rank;  ///< instead of `cells`: times the process grid
  std::optional<std::int64_t> sweeps;
  std::optional<double> tolerance;  ///< stop when the norm is not above it
  std::optional<Norm> norm;
  std::int64_t norm_every = 1;  ///< sweeps from one norm to the next
  std::optional<Precision> precision;
  std::vector<std::pair<std::string, double>> parameters;
  std::uint64_t seed = 12345;
  std::optional<std::string> initial;  ///< path of a .npy file to start from

  Extents process_grid;
  std::string backend = "auto";       ///< "auto": "cuda" where every rank has a GPU, else "cpu";
                                      ///< "reference"
  std::optional<Memory> memory;       ///< of the fields; left out: device or host, as the backend
  std::string transport = "auto";     ///< as ExchangeOptions::transport
  std::optional<std::string> proofs;  ///< as ExchangeOptions::proofs
  std::string schedule = "auto";      ///< "auto", "sequential", "overlap", "fused", "persistent"
  /// Whether sweeps are recorded in CUDA graphs; automatic: where that is possible and pays.
  enum class Graphs { automatic, on, off };
  Graphs graph = Graphs::automatic;
  std::int64_t halo_depth = 1;  ///< sweeps per exchange
  int threads = 0;              ///< of each rank; 0: its share of the node's cores
  std::string simd = "auto";    ///< vector level of the cpu backend
  /// Seconds that may be spent on measuring what is left open of process grid, schedule and graph;
  /// 0: choose by rule. Left out: 2 % of the sweeps, and 2 s at most.
  std::optional<double> tuning_seconds;
  /// Path of a file where what was measured is kept and found again. A run that it does not know
  /// may spend 2 s, however short it is.
  std::optional<std::string> tuning_file;

  enum class Extra { no, yes };
  Extra verify = Extra::no;           ///< compare with a run on one rank
  Extra baseline = Extra::no;         ///< time the same run on one rank as well
  std::optional<std::string> output;  ///< path of a .npy or .png file
  std::optional<std::string> trace;   ///< path of a Chrome trace (JSON)

  struct Progress {
    std::int64_t sweep, sweeps;
    std::optional<double> norm;
    double seconds, glups;
  };
  /// Called on rank 0 now and then.
  std::function<void(const Progress&)> on_progress;
};

/// Over ranks.
struct Spread {
  double min = 0, mean = 0, max = 0;
};

/// One call site of MPI or of a wait, over all ranks.
struct SiteProfile {
  std::string site, phase;
  std::int64_t calls, bytes;
  double mean_seconds, max_seconds, longest_seconds;
};

/// What was solved and how it went; the same on every rank, but for `profile`, which rank 0 has.
struct SolveResult : RunResult {
  std::array<bool, 3> periodic{};
  std::string processor;
  std::int64_t halo_depth = 1;

  /// How process grid, schedule and graphs were chosen, and what else was measured.
  struct Choice {
    struct Tried {
      Extents process_grid;
      std::string schedule;
      bool in_graphs;
      double seconds_per_sweep;  ///< of the slowest rank
    };
    std::string by = {};           ///< "rule", "measurement", "file"
    std::string when = {};         ///< a file's way was measured
    double seconds = 0;            ///< that measuring took
    double seconds_per_sweep = 0;  ///< of the way taken, where it was measured
    /// In the order they were measured; the first is the rule's.
    std::vector<Tried> tried = {};
  };
  Choice choice;

  std::vector<std::pair<std::string, Spread>> phases;  ///< seconds per rank, in the loop
  std::int64_t sweeps_in_graphs = 0;                   ///< whose phases are not told apart
  bool sweeps_store_halos = false;                     ///< there are no exchanges to time
  std::int64_t exchanges = 0;                          ///< of the sweeps that are in no graph
  Spread exchange_seconds;                             ///< of one of these
  std::vector<SiteProfile> profile;

  struct Baseline {
    double seconds, speedup, efficiency;
    std::string schedule;  ///< of the one rank
  };
  std::optional<Baseline> baseline;
  struct Verification {
    bool passed;
    std::string text;  ///< against what; or the first cell that differs
  };
  std::optional<Verification> verification;
};

/// Solves a problem. Collective. Throws usage, unavailable, resource or communication, the same
/// on every rank; a result that verification found wrong, or a norm that is not finite, is
/// reported in the result, not thrown.
SolveResult solve(const Communicator& communicator, const SolveOptions& options);

/// Returns what `halocline solve` prints of a result, several lines with a newline at the end.
/// Not collective; of all ranks rank 0 has the whole result.
std::string text_of(const SolveResult& result);
/// The same as JSON, as `halocline solve --json` writes it; the keys are in docs/guide.md.
std::string json_of(const SolveResult& result);

/// Throws the usage errors that solve() would throw for this number of ranks, without MPI.
void check(const SolveOptions& options, int ranks);

}  // namespace halocline
