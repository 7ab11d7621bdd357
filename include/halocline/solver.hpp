// SPDX-License-Identifier: Apache-2.0
#pragma once
// Solving stencil problems: `halocline solve` as a function.

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
#include <halocline/field.hpp>
#include <halocline/grid.hpp>
#include <halocline/memory.hpp>
#include <halocline/norm.hpp>
#include <halocline/precision.hpp>
#include <halocline/problem.hpp>
#include <halocline/program_report.hpp>
#include <halocline/run_result.hpp>

namespace halocline {

/// The options of a solve. Options without a value take the problem's default, or solve() chooses.
///
/// Fixed sets are enums. Problems, backends, transports, schedules and vector levels are names,
/// each an entry of a registry (a folder and a row of a table), so that later versions can add some
/// without a change here. An unknown name is a usage error that lists the known names.
struct SolveOptions {
  Problem problem;         ///< "laplace", "./mine.toml", Problem::from_text(...)
  Extents cells;           ///< of the whole grid: the unknowns, without boundary values
  Extents cells_per_rank;  ///< instead of `cells`: multiplied by the process grid
  std::optional<std::int64_t> sweeps;
  std::optional<double> tolerance;  ///< stop when the norm is at most this
  std::optional<Norm> norm;
  std::optional<std::int64_t> norm_every;  ///< sweeps between two norms; by default 1
  std::optional<Precision> precision;
  std::vector<std::pair<std::string, double>> parameters;
  std::optional<std::uint64_t> seed;   ///< of the noise
  std::optional<std::string> initial;  ///< path of a .npy file with the first field's start values
  /// (field, path of such a file), for any fields.
  std::vector<std::pair<std::string, std::string>> field_initials;

  /// An array of the program for a field or a coefficient of the problem: a field of one component,
  /// float or double as the precision, in any memory, with any halo and strides. On a GPU it must
  /// have the axes in the order of a Field. solve() reads and writes owned cells alone, and keeps
  /// no array.
  struct Array {
    std::string name;  ///< of the field or coefficient
    FieldStorage cells;
    enum class Use { start, result, both };
    Use use = Use::both;  ///< coefficients are read only
  };
  /// With arrays, cells and process grid must be those of their grid (see solve() with a grid), and
  /// without `precision` it is theirs. All work on them must be done.
  std::vector<Array> arrays;

  Extents process_grid;
  std::string backend = "auto";  ///< "auto": "cuda" where every rank has a GPU, else "cpu";
                                 ///< "reference"
  std::optional<Memory> memory;  ///< of the fields; by default device or host, as the backend
  /// How the fields lie in memory: "array", rows of cells; "brick", bricks of 8x8x8, 8x8 or 64
  /// cells; "brick:32x4x4", bricks of other sizes, powers of 2; "auto": array. Results have the
  /// same bits, but for L2 norms on a CPU, which are added up in another order.
  std::string layout = "auto";
  std::string transport = "auto";     ///< as ExchangeOptions::transport
  std::optional<std::string> proofs;  ///< as ExchangeOptions::proofs
  std::string schedule = "auto";      ///< "auto", "sequential", "overlap", "fused", "persistent"
  /// Whether to record sweeps in CUDA graphs; automatic: where possible and faster.
  enum class Graphs { automatic, on, off };
  Graphs graph = Graphs::automatic;
  std::int64_t halo_depth = 1;  ///< sweeps per exchange; at most the cells of the longest axis
  static constexpr std::int64_t automatic_sweeps_per_pass = 0;
  /// The most sweeps that are done in one pass over memory, at most 16: on CPUs, and on GPUs over
  /// grids of two or three axes. Halos are at least as deep. All numbers give the same bits, but
  /// those of L2 norms. Automatic: a run that is long enough begins one by one, tries passes once
  /// their kernels are compiled, and goes on with what is faster.
  std::int64_t sweeps_per_pass = automatic_sweeps_per_pass;
  int threads = 0;            ///< per rank; 0: the rank's share of the node's cores
  std::string simd = "auto";  ///< vector level of the cpu backend
  /// How the cpu backend computes formulas that are not built in: "compiled" by the C++ compiler of
  /// the machine, "interpreted", or "auto": compiled where that is at hand from an earlier run, or
  /// this one is long enough to be worth some seconds. The same bits, but for L2 norms.
  std::string formulas = "auto";
  /// Seconds that solve() may spend on timing alternatives where process grid, schedule or graph is
  /// open; 0: choose by rule. By default 2 % of the sweeps, at most 2 s.
  std::optional<double> tuning_seconds;
  /// Path of a file that keeps the fastest choices for later runs. A run that the file does not
  /// list may spend 2 s on timing, however short it is.
  std::optional<std::string> tuning_file;

  enum class Extra { no, yes };
  Extra verify = Extra::no;  ///< compare the result with that of one rank
  /// After each interval of this many sweeps, each rank recomputes a random box of its cells on the
  /// host with the reference backend and compares. If a bit differs, the run ends and writes no
  /// more files or checkpoints.
  std::optional<std::int64_t> verify_every;
  Extra baseline = Extra::no;  ///< also time the same run on one rank
  /// Path of a .npy or .png file, for the first field, or of a .vtkhdf or .vti file, for all.
  std::optional<std::string> output;
  /// (field, path of such a file), for any fields; an empty name as above.
  std::vector<std::pair<std::string, std::string>> field_outputs;
  /// The interval, in sweeps, at which outputs are written, also at the start and at the end. The
  /// name of each file has the number of sweeps done: "u-000100.npy" for "u.npy". A .vtkhdf file
  /// has all times.
  std::optional<std::int64_t> output_every;
  /// The values at the ends of the colours in pictures of a field. By default those of the picture,
  /// made symmetric about 0 where both signs are of about one size, which get colours that diverge
  /// from 0; with output_every those of the pictures so far, so that the scale only ever widens. A
  /// range that is symmetric about 0 has diverging colours, too.
  struct Range {
    std::string field;  ///< empty: the first
    double min, max;
  };
  std::vector<Range> ranges;
  /// Whether sweeps continue while files and checkpoints are written. `beside`: a thread writes
  /// copies of the fields meanwhile, which needs MPI_THREAD_MULTIPLE and memory for the copies, on
  /// the GPU or else on the host. `between`: the sweeps wait. Automatic: `beside` if both are
  /// there. If files are due before the last ones are written, the sweeps wait.
  enum class Writing { automatic, beside, between };
  Writing writing = Writing::automatic;
  std::optional<std::string> trace;  ///< path of a Chrome trace (JSON)

  /// Path of a folder for checkpoints, from which a later run can continue; created if it does not
  /// exist. The newest two are kept, one of the end among them. A folder with those of another run
  /// is a usage error. With `restart`, by default its folder.
  std::optional<std::string> checkpoint;
  /// The interval between checkpoints, in sweeps or in seconds; by default 1800 seconds.
  std::optional<std::int64_t> checkpoint_every;
  std::optional<double> checkpoint_seconds;
  /// Path of a folder of checkpoints, or of one: the run continues from there, and ends with the
  /// bits of one that was never stopped. Problem, cells, precision, parameters, seed, norm,
  /// tolerance, sums and probes are those of the file, and giving others is a usage error; without
  /// `sweeps` it ends where the first run would have. All else may differ: ranks, backend,
  /// schedule, files.
  std::optional<std::string> restart;
  /// Called on every rank between sweeps, at least twice a second if a sweep takes no longer; must
  /// be cheap. If it returns a reason on any rank ("SIGTERM"), the run ends between two sweeps that
  /// all ranks agree on, after a checkpoint if there is a folder for it.
  std::function<std::string()> stop_request;

  std::vector<std::string> sums;  ///< fields whose sum over all cells goes into the series
  /// A cell of a field whose value goes into the series.
  struct Probe {
    std::string field;               ///< empty: the first
    std::vector<std::int64_t> cell;  ///< its index from 0 along each axis, x first
  };
  std::vector<Probe> probes;
  std::optional<std::string> series;  ///< path of a .csv file with the series
  /// Sweeps between two rows of the series; by default output_every, else a hundredth of the run.
  std::optional<std::int64_t> series_every;

  struct Progress {
    std::int64_t sweep, sweeps;
    std::int64_t first;  ///< sweeps that an earlier run had done
    std::optional<double> norm;
    double seconds, glups;
    std::optional<std::int64_t> saved;  ///< sweeps that the newest checkpoint of this run has
  };
  /// Called on rank 0 during the sweeps, at most every 0.5 s, and at their end.
  std::function<void(const Progress&)> on_progress;
  /// Called on rank 0, as soon as a file cannot be written while the run continues, with its name
  /// and the reason: each checkpoint that failed, and each file of output_every. May be
  /// called by a thread of solve()'s own.
  std::function<void(const std::string&)> on_trouble;
};

/// Sets an option by its name and a word, as programs read them from files of their own:
/// ("transport", "peer"), ("norm_every", "10"), ("verify", "yes"). Words are those of the command
/// line; docs/options.md lists the names. An option with several values gets one more each time.
/// Throws usage for unknown names, for wrong words, and for an option that is set already.
void set_option(SolveOptions& options, const std::string& name, const std::string& word);

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

/// The result of a solve, the same on every rank except `profile`, which only rank 0 has, and
/// `total_seconds`.
struct SolveResult : RunResult {
  std::optional<double> time;  ///< that the sweeps have reached, if the problem has a step in time
  /// From the start of solve() to its end, with files and checks.
  double total_seconds = 0;
  struct Field {
    std::string name;
    std::uint64_t checksum = 0;
    double sum = 0;
  };
  /// The first field, in the problem's order, with a value that is not finite, and the cell of the
  /// lowest global index where that is so.
  struct NotFinite {
    std::string field;
    Int3 cell;
  };
  std::optional<NotFinite> not_finite;
  /// In the order of the problem; checksum and sum of the result are those of the first.
  std::vector<Field> fields;
  std::vector<std::string> norm_of;  ///< the fields whose change the norm is of
  std::array<bool, 3> periodic{};
  std::string processor;
  std::string formulas;  ///< "compiled" or "interpreted"
  std::int64_t halo_depth = 1;
  std::int64_t sweeps_per_pass = 1;   ///< the most of a pass over memory
  std::int64_t sweeps_in_passes = 0;  ///< of the sweeps queued, by several a pass over memory
  Extents brick;                      ///< cells of a brick of the fields; empty: they were in rows

  /// Sums and probes over time, in the order of the options; nothing without any.
  struct Series {
    std::int64_t every;
    /// Of the values of a row: "t" if the problem has a step in time, "sum(u)", "u@10,20".
    std::vector<std::string> names;
    struct Row {
      std::int64_t sweeps;  ///< done
      std::vector<double> values;
    };
    /// At the start, after each interval, and at the end. The same bits for every split.
    std::vector<Row> rows;
  };
  std::optional<Series> series;

  /// The checkpoint from which the run continued, with option 'restart'.
  struct Restart {
    std::string path;
    std::int64_t sweeps;
  };
  std::optional<Restart> restart;
  struct Checkpoints {
    std::string folder;
    std::int64_t written = 0;
    std::int64_t last = 0;  ///< sweeps done at the newest one
    double seconds = 0;     ///< spent on writing them
  };
  std::optional<Checkpoints> checkpoints;
  /// The writing of files during the sweeps, if there were any.
  struct Writing {
    std::string waits_because;  ///< why the sweeps wait while it writes; empty if they do not
    std::string copies_in;      ///< the memory of the copies of fields, "device"
    std::int64_t bytes = 0;     ///< of the copies, on this rank
    double seconds_waited = 0;  ///< in which the sweeps waited for copies or for the disk
  };
  std::optional<Writing> writing;
  /// The pictures that were written, of numbered ones the last.
  struct Picture {
    std::string path, field;
    std::string map;  ///< "viridis", or "coolwarm" for values of both signs
    /// The values at the ends of the map; nothing if none was finite.
    std::optional<double> least = {}, largest = {};
    std::string text = {};  ///< the scale, and which part of the field is shown
  };
  std::vector<Picture> pictures;
  std::string stopped_by;  ///< the request that ended the run early: SolveOptions::stop_request

  /// How solve() chose process grid, transport, schedule and graphs, and the times of the
  /// alternatives.
  struct Choice {
    struct Tried {
      Extents process_grid;
      std::string schedule;
      std::string transport;  ///< as ExchangeInfo::transport()
      bool in_graphs;
      std::int64_t sweeps_per_pass = 1;  ///< the most
      double seconds_per_sweep;          ///< of the slowest rank
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
  std::vector<std::vector<double>> phases_of_ranks;    ///< the same of each rank
  std::int64_t operations_per_update = 0;              ///< equal parts of formulas counted once
  std::int64_t sweeps_in_graphs = 0;                   ///< timed without separate phases
  /// Which halos the sweeps send themselves: there are no exchanges of these to time.
  enum class HalosBySweeps { none, some, all } halos_by_sweeps = HalosBySweeps::none;
  std::int64_t exchanges = 0;  ///< without those in graphs
  Spread exchange_seconds;     ///< per such exchange; of no meaning with sweeps in graphs
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
  /// Result of option verify_every.
  struct SpotChecks {
    std::int64_t sweeps = 0;  ///< checked
    std::int64_t cells = 0;   ///< updated again, of all ranks
    std::string wrong;        ///< the first wrong cell, its sweep, rank and GPU; empty if none
  };
  std::optional<SpotChecks> spot_checks;
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
/// threads, simd, proofs, on_progress and on_trouble. Allocates two time levels, and writes the
/// files that the options name as soon as the sweeps are done, those of output_every also on the
/// way. Throws, the same on every rank, usage, unavailable, resource, communication or device;
/// after the sweeps an IncompleteSolve, which has the result. An array that is complete but cannot
/// be put in place is kept, and the error names it. A failed verification or a norm that is not
/// finite throws nothing: see the result.
SolveResult solve(const Communicator& communicator, const SolveOptions& options);
/// The same on the cells and the process grid of a grid, as programs with their own arrays need it.
/// The problem defines which axes are periodic. `options` must leave cells and process grid
/// open.
SolveResult solve(const Communicator& communicator, const Grid& grid, const SolveOptions& options);

/// Returns the report that `halocline solve` prints: several lines, with a newline at the end. Not
/// collective; only rank 0 has the whole result.
std::string text_of(const SolveResult& result);
/// Returns the report as JSON, as `halocline solve --json` writes it; docs/report.md lists the
/// keys.
std::string json_of(const SolveResult& result);
/// Writes these, on rank 0, to files or standard output. Collective. Throws, on every rank,
/// resource if writing fails, usage for an invalid path.
void write_report(const Communicator& communicator, const SolveResult& result,
                  const ReportFiles& files);

/// Throws the usage errors that solve() would throw on this number of ranks. Needs no MPI; not
/// collective.
void check(const SolveOptions& options, int ranks);
/// Returns what solve() would solve, as JSON: problem, cells, fields, coefficients, parameters,
/// stop; docs/report.md lists the keys. Throws as check().
std::string description_of(const SolveOptions& options, int ranks);

}  // namespace halocline
