// SPDX-License-Identifier: Apache-2.0
#pragma once
// The checkpoints that a run writes into a folder.

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <halocline/communicator.hpp>
#include <halocline/grid.hpp>
#include <halocline/solver.hpp>

#include "base/files/descriptor.hpp"
#include "base/recorder.hpp"
#include "base/text/notes.hpp"
#include "files/attempts.hpp"
#include "solver/case.hpp"
#include "solver/engine/levels.hpp"
#include "solver/engine/stopping.hpp"
#include "solver/run_files/restart.hpp"

namespace halocline::solver {

/// Throws usage if the options do not fit together. Not collective.
void check_checkpoint_options(const SolveOptions& options);

/// Writes checkpoints and keeps the newest two. Calls are collective unless documented otherwise.
class Checkpoints {
 public:
  /// Makes the folder if it is not there, and holds it against other runs until the end. Throws
  /// usage for a folder with checkpoints of another run, or that another run writes to; resource if
  /// the disk has no room for those that will be there at once. The parts must outlive it.
  Checkpoints(const Communicator& communicator, const Case& the_case, const SolveOptions& options,
              const problem::ProblemText& problem);

  /// Whether it is time for one, by the clock. For rank 0, not collective, nor while one is
  /// written.
  bool is_due_by_clock() const;
  /// Returns whether a checkpoint is due after this number of sweeps.
  bool is_due_at(std::int64_t sweeps) const;

  struct State {
    const Grid& grid;
    const Level& level;
    const Level& coefficients;
    std::int64_t sweeps;  ///< done
    std::vector<std::pair<std::int64_t, double>> norms;
    std::vector<SolveResult::Series::Row> rows;
  };
  /// Writes one of a level, with the coefficients that no formula gives, unless there is one of
  /// this number of sweeps. After a failure the next one is tried; `attempts` gets the last error.
  void write(const State& state, Attempts& attempts);
  /// Adds a note about checkpoints that could not be written, if any. Not collective, nor while one
  /// is written.
  void note(Notes& notes) const;

  /// Not while one is written.
  const SolveResult::Checkpoints& so_far() const { return so_far_; }
  /// The sweeps of the newest one, if this run has written one. At any time, in any thread.
  std::optional<std::int64_t> newest() const;

 private:
  void hold_folder();
  void write_file(const State& state);
  void remove_older() const;

  const Communicator& communicator_;
  const Case& case_;
  const SolveOptions& options_;
  const problem::ProblemText& problem_;
  SolveResult::Checkpoints so_far_;
  std::set<std::int64_t> written_;      // their sweeps
  std::unique_ptr<Descriptor> folder_;  // on rank 0, with a lock
  Clock::time_point last_ = Clock::now();
  std::atomic<std::int64_t> newest_ = -1;
  std::int64_t failed_ = 0;
  std::string first_failure_;
};

}  // namespace halocline::solver
