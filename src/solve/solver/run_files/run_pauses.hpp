// SPDX-License-Identifier: Apache-2.0
#pragma once
// The work of a run in a pause between two sweeps, and after the last one: rows of the series,
// files, checkpoints, checks of values and bits, an end on request.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <halocline/communicator.hpp>
#include <halocline/solver.hpp>

#include "base/text/notes.hpp"
#include "files/attempts.hpp"
#include "solver/case.hpp"
#include "solver/engine/levels.hpp"
#include "solver/engine/runner.hpp"
#include "solver/engine/time_loop.hpp"
#include "solver/run_files/checkpoints.hpp"
#include "solver/run_files/outputs.hpp"
#include "solver/run_files/requests.hpp"
#include "solver/run_files/series.hpp"
#include "solver/run_files/spot_check.hpp"
#include "solver/run_files/writer.hpp"
#include "solver/target.hpp"

namespace halocline::solver {

/// All functions are collective unless documented otherwise.
class RunPauses {
 public:
  /// Holds the folder of the checkpoints, before the run takes time and memory. Throws as Writer
  /// and Checkpoints do. The parts must outlive it.
  RunPauses(const Communicator& communicator, const Case& the_case, const SolveOptions& options,
            const problem::ProblemText& problem);
  RunPauses(const RunPauses&) = delete;
  RunPauses& operator=(const RunPauses&) = delete;

  /// Takes the memory that pauses need. The parts must outlive it.
  void open(const Runner& runner, const Target& target, int threads);
  /// Goes on with another runner of the same grid, which must outlive it. Not collective.
  void follow(const Runner& runner) { runner_ = &runner; }
  /// Returns when a loop by passes of at most so many sweeps pauses, and for which work. Checks of
  /// bits repeat as many sweeps. Failures are kept, unless another rank is lost.
  Pauses pauses(std::int64_t sweeps_per_pass);
  /// Ends the check that has begun, for a loop of other passes: after `sweeps` it compares, if that
  /// is due, or gives it up. Collective.
  void end_check(std::int64_t sweeps, std::size_t level);
  /// Ends the work in parallel with the sweeps, and checks the last of them, whose level this is.
  /// Throws communication if another rank was lost meanwhile.
  void finish(std::int64_t sweeps, const Level& level);

  /// Whether no wrong bit was found. Not collective.
  bool has_right_bits() const;
  /// The sweeps of the newest checkpoint, if this run has written one. Not collective.
  std::optional<std::int64_t> saved() const;

  /// Adds the row of the end, if there is a series, and the whole of it to the result.
  void end_series(const Level& result_level, SolveResult& result);
  /// Adds the outcome of requests, checkpoints, files and checks. Not collective.
  void report(SolveResult& result, Notes& notes) const;
  /// Writes the checkpoint of the end, unless a bit was wrong; keeps errors, also earlier ones.
  void save_end(const Level& result_level, const SolveResult& result, Attempts& attempts);
  /// Writes the files of the result, and adds what is to be known of them.
  void write_end(const Level& result_level, SolveResult& result, Attempts& attempts, Notes& notes);

 private:
  /// The files to write after a sweep.
  struct Due {
    bool output = false;
    bool checkpoint = false;
    std::vector<std::pair<std::int64_t, double>> norms = {};  ///< for the checkpoint
  };

  /// Work that is due after every so many sweeps, where a pass of several ends.
  struct Interval {
    const char* what;
    std::int64_t sweeps;
  };
  std::vector<Interval> intervals() const;
  Request request() const;
  std::string reason_to_stop() const;
  Pauses::Next pause(std::int64_t sweeps, std::size_t level, Stopping& stopping);
  bool checks_values() const;
  bool is_finite(const Level& level) const;
  void check_bits(std::int64_t sweeps, const Level& level);
  std::optional<Due> due_after(std::int64_t sweeps, Stopping& stopping) const;
  std::set<std::size_t> fields_of(const Due& due) const;
  void write(std::int64_t sweeps, const Level& level, Due due);
  void report_trouble(std::int64_t sweeps, const Attempts& attempts, const char* then) const;
  void finish_writing();
  std::vector<SolveResult::Series::Row> rows() const;

  const Communicator& communicator_;
  const Case& case_;
  const SolveOptions& options_;
  const Runner* runner_ = nullptr;
  std::optional<Grid> grid_;  ///< that of all runners, which may end before the run does
  const Target* target_ = nullptr;
  int threads_ = 1;
  std::int64_t sweeps_of_check_ = 1;
  std::optional<Outputs> outputs_;
  std::optional<Series> series_;
  std::optional<Checkpoints> checkpoints_;
  std::optional<Requests> requests_;
  std::optional<SpotCheck> spot_check_;
  Request requested_ = Request::none;
  std::string stopped_by_, wrong_bits_;
  std::int64_t cells_checked_ = 0;  // of all ranks, at the end
  Attempts writing_, saving_;       // of outputs and of checkpoints
  std::optional<Writer> writer_;    // last: it ends before what it writes
};

}  // namespace halocline::solver
