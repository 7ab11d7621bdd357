// SPDX-License-Identifier: Apache-2.0
#pragma once
// Solving the built-in problems: `halocline solve` as a function.

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <halocline/communicator.hpp>
#include <halocline/error.hpp>
#include <halocline/exchange.hpp>
#include <halocline/grid.hpp>
#include <halocline/memory.hpp>
#include <halocline/norm.hpp>
#include <halocline/precision.hpp>
#include <halocline/run_result.hpp>

namespace halocline {

/// The options of a solve. Options without a value take the problem's default, or solve() chooses.
///
/// Fixed sets are enums. Problems, backends, transports, schedules and vector levels are names,
/// each an entry of a registry (a folder and a row of a table), so that later versions can add some
/// without a change here. An unknown name is a usage error that lists the known names.
struct SolveOptions {
  std::string problem;
  Extents cells;           ///< of the whole grid: the unknowns, without boundary values
  Extents cells_per_rank;  ///< instead of `cells`: multiplied by the process grid
  std::optional<std::int64_t> sweeps;
  std::optional<double> tolerance;  ///< stop when the norm is at most this
  std::optional<Norm> norm;
  std::int64_t norm_every = 1;  ///< a norm every so many sweeps
  std::optional<Precision> precision;
  std::vector<std::pair<std::string, double>> parameters;
  std::uint64_t seed = 12345;
  std::optional<std::string> initial;  ///< path of a .npy file with the start values

  Extents process_grid;
  std::string backend = "auto";       ///< "auto": "cuda" where every rank has a GPU, else "cpu";
                                      ///< "reference"
  std::optional<Memory> memory;       ///< of the fields; by default device or host, as the backend
  std::string transport = "auto";     ///< as ExchangeOptions::transport
  std::optional<std::string> proofs;  ///< as ExchangeOptions::proofs
  std::string schedule = "auto";      ///< "auto", "sequential", "overlap", "fused", "persistent"
  /// Whether to record sweeps in CUDA graphs; automatic: where possible and faster.
  enum class Graphs { automatic, on, off };
  Graphs graph = Graphs::automatic;
  std::int64_t halo_depth = 1;  ///< sweeps per exchange; at most the cells of the longest axis
  int threads = 0;              ///< per rank; 0: the rank's share of the node's cores
  std::string simd = "auto";    ///< vector level of the cpu backend
  /// Seconds that solve() may spend on timing alternatives where process grid, schedule or graph is
  /// open; 0: choose by rule. By default 2 % of the sweeps, at most 2 s.
  std::optional<double> tuning_seconds;
  /// Path of a file that keeps the fastest choices for later runs. A run that the file does not
  /// list may spend 2 s on timing, however short it is.
  std::optional<std::string> tuning_file;

  enum class Extra { no, yes };
  Extra verify = Extra::no;           ///< compare the result with that of one rank
  Extra baseline = Extra::no;         ///< also time the same run on one rank
  std::optional<std::string> output;  ///< path of a .npy or .png file
  std::optional<std::string> trace;   ///< path of a Chrome trace (JSON)

  struct Progress {
    std::int64_t sweep, sweeps;
    std::optional<double> norm;
    double seconds, glups;
  };
  /// Called on rank 0 during the sweeps, at most every 0.5 s.
  std::function<void(const Progress&)> on_progress;
};

/// The smallest, mean and largest value of all ranks.
struct Spread {
  double min = 0, mean = 0, max = 0;
};

/// Calls and times of one call site of MPI or one kind of wait, over all ranks.
struct SiteProfile {
  std::string site, phase;
  std::int64_t calls, bytes;
  double mean_seconds, max_seconds, longest_seconds;
};

/// The result of a solve, the same on every rank except `profile`, which only rank 0 has.
struct SolveResult : RunResult {
  std::array<bool, 3> periodic{};
  std::string processor;
  std::int64_t halo_depth = 1;

  /// How solve() chose process grid, transport, schedule and graphs, and the times of the
  /// alternatives.
  struct Choice {
    struct Tried {
      Extents process_grid;
      std::string schedule;
      std::string transport;  ///< as ExchangeInfo::transport()
      bool in_graphs;
      double seconds_per_sweep;  ///< of the slowest rank
    };
    std::string by = {};           ///< "rule", "measurement", "file"
    std::string when = {};         ///< with "file": when the choice was measured
    double seconds = 0;            ///< spent on measuring
    double seconds_per_sweep = 0;  ///< of the choice, if it was measured
    /// In the order of measurement; the first is the choice by rule.
    std::vector<Tried> tried = {};
  };
  Choice choice;

  std::vector<std::pair<std::string, Spread>> phases;  ///< seconds per rank, in the loop
  std::int64_t sweeps_in_graphs = 0;                   ///< timed without separate phases
  bool sweeps_store_halos = false;  ///< sweeps send their halos: there are no exchanges to time
  std::int64_t exchanges = 0;       ///< without those in graphs
  Spread exchange_seconds;          ///< per such exchange; of no meaning with sweeps in graphs
  std::vector<SiteProfile> profile;

  struct Baseline {
    double seconds, speedup, efficiency;
    std::string schedule;  ///< on one rank
  };
  std::optional<Baseline> baseline;
  struct Verification {
    bool passed;
    std::string text;  ///< the comparison that passed, or the first cell or norm that differs
  };
  std::optional<Verification> verification;
};

/// Thrown by solve() if all sweeps were done and only something after them failed: a file that
/// could not be written, the verification or the baseline. Kind and text are those of what failed.
class IncompleteSolve : public Error {
 public:
  IncompleteSolve(const Error& error, SolveResult result)
      : Error(error), result_(std::make_shared<const SolveResult>(std::move(result))) {}
  /// Returns the result without what failed. Lives as long as a copy of the exception.
  const SolveResult& result() const noexcept { return *result_; }

 private:
  std::shared_ptr<const SolveResult> result_;
};

/// Solves a problem. Collective: options that differ between ranks are a usage error, except
/// threads, simd, proofs and on_progress. Allocates two time levels, and writes the files that the
/// options name as soon as the sweeps are done. Throws, the same on every rank, usage, unavailable,
/// resource, communication or device; after the sweeps an IncompleteSolve, which has the result. An
/// array that is complete but cannot be put in place is kept, and the error names it. A failed
/// verification or a norm that is not finite throws nothing: see the result.
SolveResult solve(const Communicator& communicator, const SolveOptions& options);

/// Returns the report that `halocline solve` prints: several lines, with a newline at the end. Not
/// collective; only rank 0 has the whole result.
std::string text_of(const SolveResult& result);
/// Returns the report as JSON, as `halocline solve --json` writes it; docs/guide.md lists the keys.
std::string json_of(const SolveResult& result);

/// Throws the usage errors that solve() would throw on this number of ranks. Needs no MPI; not
/// collective.
void check(const SolveOptions& options, int ranks);

}  // namespace halocline
