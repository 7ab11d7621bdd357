// SPDX-License-Identifier: Apache-2.0
#pragma once
// Detects whether this process is a rank of a job already.

#include <optional>
#include <string>

#include "base/process/variables.hpp"

namespace halocline {

/// Values that launchers set in every rank's environment. A number that no variable gives is
/// empty: PALS, for one, may leave out the size.
struct Launched {
  std::string launcher;     ///< "mpirun", "mpiexec", "srun", ...
  std::optional<int> size;  ///< ranks in the job
  std::optional<int> rank;
  std::optional<int> local_rank;  ///< among the ranks of its node
};

/// Set by job_variables() for the ranks of our own jobs: whatever the launcher, they start no job
/// of their own. Its value is the number of ranks.
inline constexpr const char* launched_variable = "HALOCLINE_LAUNCHED";

/// Finds the launcher that started this process, if one did. A shell inside a Slurm allocation
/// (salloc, sbatch, srun --pty) has no launcher, although Slurm's variables are set.
std::optional<Launched> launched_by(const Variables& variables);

/// Finds which rank of its node this process is, before MPI is started. What a shell of Slurm or
/// an outer launcher left in the environment does not count.
std::optional<int> local_rank(const Variables& variables);

}  // namespace halocline
