// SPDX-License-Identifier: Apache-2.0
#pragma once
// Restarts from a checkpoint: the run in a file, and the options of the run that continues it.

#include <memory>
#include <string>
#include <vector>

#include <halocline/communicator.hpp>
#include <halocline/solver.hpp>

#include "files/checkpoint.hpp"
#include "problem/catalogue.hpp"
#include "solver/engine/stepper.hpp"

namespace halocline::solver {

/// A run as its checkpoint has it, but for the values of its fields.
struct Restart {
  std::string path;  ///< of the file
  files::CheckpointHead head;
  problem::ProblemText problem;
  RunState state;  ///< level 0 is to have the values
  std::vector<SolveResult::Series::Row> rows;

  bool has(const std::string& field) const;
  /// Whether a norm had ended the run, however many sweeps it might have done.
  bool is_over() const;
};

/// The state of a run in a checkpoint, without its fields.
struct RunToSave {
  const SolveOptions& options;
  const Case& the_case;
  const problem::ProblemText& problem;
  std::int64_t sweeps;  ///< done
  const std::vector<std::pair<std::int64_t, double>>& norms;
  const std::vector<SolveResult::Series::Row>& rows;
};
Json json_of(const RunToSave& run);
std::vector<files::CheckpointText> texts_of(const RunToSave& run);

/// Returns the checkpoint at `path`, or the newest one in such a folder. Not collective. Throws
/// usage if there is none, or it is damaged, with the one before it; resource.
Restart find_restart(const std::string& path);
/// The same, found by rank 0. Collective.
std::shared_ptr<const Restart> find_restart(const Communicator& communicator,
                                            const std::string& path);

/// Returns the options of the restarted run. Throws usage for those that cannot differ.
SolveOptions continued(const SolveOptions& options, const Restart& restart);

/// Returns where a run of this case begins. Left out is a norm of the last sweep of the earlier
/// run, which a longer one would not have.
RunState start_of(const Restart& restart, const Case& the_case);

/// Throws usage for a damaged checkpoint, naming the one before it.
[[noreturn]] void refuse_damaged(const std::string& path, const std::string& why);

/// A checkpoint in a folder, by the number of sweeps in its name.
struct CheckpointFile {
  std::int64_t sweeps;
  std::string path;
};
/// Returns those of a folder, the newest first; none if it cannot be read.
std::vector<CheckpointFile> checkpoints_in(const std::string& folder);
std::string checkpoint_path(const std::string& folder, std::int64_t sweeps);

}  // namespace halocline::solver
