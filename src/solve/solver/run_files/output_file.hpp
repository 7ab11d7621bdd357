// SPDX-License-Identifier: Apache-2.0
#pragma once
// One output of a run, of whatever kind.

#include <cstdint>
#include <memory>

#include <halocline/communicator.hpp>
#include <halocline/grid.hpp>
#include <halocline/solver.hpp>

#include "base/files/temporary_file.hpp"
#include "base/text/notes.hpp"
#include "solver/case.hpp"
#include "solver/engine/levels.hpp"

namespace halocline::solver {

/// A file, or numbered ones, that the option 'output' names. All calls are collective, and throw
/// the errors of files/.
class OutputFile {
 public:
  virtual ~OutputFile() = default;
  /// Writes the fields, of a level that the host can read, after `sweeps` sweeps.
  virtual void write(const Level& level, std::int64_t sweeps, Otherwise otherwise) = 0;
  /// Adds what is to be known of all that was written.
  virtual void report(SolveResult&, Notes&) const {}
};

struct OutputParts {
  const Communicator& communicator;
  const Grid& grid;
  const Case& the_case;
};

/// The parts and `output` must outlive it.
std::unique_ptr<OutputFile> make_output_file(const OutputParts& parts, const Case::Output& output);

/// Returns the maximum number of files or times of a run with numbered outputs: those of its start,
/// of each interval and of its end.
std::int64_t most_outputs(const Case& the_case);

/// Returns the name of the file that lists numbered ones and their times: "u.pvd".
std::string list_of_numbered(const std::string& path);

}  // namespace halocline::solver
