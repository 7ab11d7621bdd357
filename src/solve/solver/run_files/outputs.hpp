// SPDX-License-Identifier: Apache-2.0
#pragma once
// The files of fields that a run writes, at its end or also on its way.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <halocline/communicator.hpp>
#include <halocline/grid.hpp>
#include <halocline/solver.hpp>

#include "base/text/notes.hpp"
#include "files/attempts.hpp"
#include "solver/case.hpp"
#include "solver/engine/levels.hpp"
#include "solver/run_files/output_file.hpp"

namespace halocline::solver {

/// Throws usage unless the .npy files that a run begins with have arrays that fit: the `initial`
/// ones of its fields, and those of coefficients that are no arrays of the program. Reads their
/// heads. Not collective.
void check_start_files(const problem::Model& model,
                       const std::vector<std::optional<std::string>>& initial,
                       const Case::OwnArrays& own_coefficients = {});

/// Throws now the errors that the files of a run would otherwise meet only after the run, or after
/// its start has taken memory and time. Collective.
void check_files(const Communicator& communicator, const SolveOptions& options,
                 const Case& the_case);

/// Writes the files that the option 'output' names. All functions are collective.
class Outputs {
 public:
  /// The parts must outlive it.
  Outputs(const Communicator& communicator, const Grid& grid, const Case& the_case);

  /// Writes numbered files of the fields after `sweeps` sweeps. An output that fails is left out
  /// from then on; `attempts` keeps the error.
  void write_some(const Level& level, std::int64_t sweeps, Attempts& attempts);
  /// Writes the result, under the plain names or as the last of the numbered files.
  void write_last(const Level& result_level, std::int64_t sweeps, Attempts& attempts);
  /// Adds what is to be known of all that was written. Not collective.
  void report(SolveResult& result, Notes& notes) const;

 private:
  struct Output {
    std::unique_ptr<OutputFile> file;
    bool has_failed = false;
    std::optional<std::int64_t> last_written = {};
  };

  const Grid& grid_;
  const Case& case_;
  std::vector<Output> outputs_;
};

}  // namespace halocline::solver
