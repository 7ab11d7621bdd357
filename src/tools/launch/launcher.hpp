// SPDX-License-Identifier: Apache-2.0
#pragma once
// The launcher, which starts ranks, and its command line.

#include <optional>
#include <string>
#include <vector>

#include "base/process/mpi_family.hpp"
#include "base/process/variables.hpp"

namespace halocline {

enum class LauncherKind {
  open_mpi,  ///< mpirun of Open MPI
  hydra,     ///< mpiexec of MPICH and its derivatives, also PALS
  srun,
  other  ///< named by the user; assumed to take -n
};

struct Launcher {
  LauncherKind kind = LauncherKind::other;
  std::string path;
  std::vector<std::string> arguments = {};  ///< placed before ours
};

/// The variable with the user's launcher: a command with options, split at spaces.
inline constexpr const char* launcher_variable = "HALOCLINE_LAUNCHER";

/// Finds a launcher of `family`: the user's; `hint`, the path found by the build; by name in PATH;
/// srun inside a Slurm allocation. If both families are installed, names may mislead, so a
/// candidate must prove its family by its name, its link target or --version. Throws unavailable
/// with the names tried, the rejected candidates and the fix.
Launcher find_launcher(MpiFamily family, const std::string& hint, const Variables& variables);

/// Placeholder for the number of ranks in a command. A command with it gets no options from us.
inline constexpr const char* ranks_placeholder = "{ranks}";

/// Returns whether a launcher's arguments contain the placeholder.
bool has_ranks_placeholder(const Launcher& launcher);

/// Returns the launcher of a user's command, "srun -n {ranks}", even one of another family, to
/// report how it fails. Throws unavailable if there is no such program, usage if the command sets a
/// number of ranks.
Launcher launcher_named(const std::string& words, const Variables& variables);

/// Returns why a launcher of this kind does not count as one of `family`, "belongs to MPICH"; empty
/// if it does.
std::string objection_to(LauncherKind kind, MpiFamily family);

std::string name_of(MpiFamily family);

/// Whether the launcher prints messages about how its ranks ended.
enum class Chatter { quiet, full };

struct JobSpec {
  int ranks = 1;
  std::string program;
  std::vector<std::string> arguments = {};
  /// Cores of this node for ranks, see usable_cores(). If hardware threads were counted, mpirun
  /// would silently refuse more ranks than cores.
  int cores = 1;
  int threads_per_rank = 1;
  int ranks_per_node = 0;  ///< 0: the launcher's default
  Chatter chatter = Chatter::quiet;
};

/// Counts the cores that this process may run on, without hardware threads, as mpirun counts slots.
int usable_cores();

/// Builds the command of a job. Ranks are not bound to cores.
std::vector<std::string> command(const Launcher& launcher, const JobSpec& job);

/// Returns the user's variables that make OpenMP bind threads; none if one of them disables
/// binding.
Variables bindings_among(const Variables& variables);

/// Lists variables that ranks must not get, since OpenMP would bind the threads of all ranks to the
/// same cores. None if the user's own command starts the job.
std::vector<std::string> bindings_withheld(const Launcher& launcher, const Variables& variables);

enum class User { ordinary, root };
User current_user();

/// Returns variables that a job needs in addition to those of this process.
Variables job_variables(const Launcher& launcher, const JobSpec& job, User user = current_user());

/// Returns the signal that ended a rank, if the launcher's exit code shows it.
std::optional<int> signal_of_rank(LauncherKind kind, int exit_code);

/// Finds out why a launcher failed without a message, by running `true` on as many ranks; empty if
/// that succeeds. Takes as long as starting a job, at most 30 seconds.
std::string complaint_of(const Launcher& launcher, const JobSpec& job);

}  // namespace halocline
