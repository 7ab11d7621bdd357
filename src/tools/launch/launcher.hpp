// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds the program that starts ranks, and builds its command.

#include <optional>
#include <string>
#include <vector>

#include "base/process/mpi_family.hpp"
#include "base/process/variables.hpp"

namespace halocline {

enum class LauncherKind {
  open_mpi,  ///< mpirun of Open MPI
  hydra,     ///< mpiexec of MPICH and its kin, also PALS
  srun,
  other  ///< named by the user; assumed to take -n
};

struct Launcher {
  LauncherKind kind = LauncherKind::other;
  std::string path;
  std::vector<std::string> arguments = {};  ///< come before ours
};

/// Names the user's choice of launcher: a command, with options if need be, split at spaces.
inline constexpr const char* launcher_variable = "HALOCLINE_LAUNCHER";

/// Finds a launcher of `family`: the user's choice; `hint`, the path that the build found; by name
/// on PATH; srun inside a Slurm allocation. Names lie where both families are installed, so each
/// candidate must show its family by its name, by the name of what it links to, or by --version.
/// Throws unavailable, saying what was looked for, what was rejected and why, and the fix.
Launcher find_launcher(MpiFamily family, const std::string& hint, const Variables& variables);

/// Stands in a command for the number of ranks: what a user writes so is started as it is, with
/// nothing of ours between.
inline constexpr const char* ranks_placeholder = "{ranks}";

/// Whether a launcher's arguments say where the number of ranks belongs.
bool has_ranks_placeholder(const Launcher& launcher);

/// Takes a user's command by their word, "srun -n {ranks}", also one of another family: to see what
/// becomes of it. Throws unavailable if there is no such program, usage if the command sets a
/// number of ranks.
Launcher launcher_named(const std::string& words, const Variables& variables);

/// Says why a launcher is not taken for one of `family`, "belongs to MPICH"; empty if it is.
std::string objection_to(const Launcher& launcher, MpiFamily family);

/// Says why a launcher cannot start ranks of `family`, "belongs to MPICH"; empty if it can, or if
/// that is not known.
std::string known_objection(const Launcher& launcher, MpiFamily family);

std::string name_of(MpiFamily family);

/// Whether the launcher comments on how its ranks ended.
enum class Chatter { quiet, full };

struct JobSpec {
  int ranks = 1;
  std::string program;
  std::vector<std::string> arguments = {};
  /// Cores of this node that ranks may use, as usable_cores() counts. Were hardware threads counted
  /// too, mpirun would refuse more ranks than cores, and quietly.
  int cores = 1;
  int threads_per_rank = 1;
  int ranks_per_node = 0;  ///< so many on each node; 0: nodes are filled as the launcher does it
  Chatter chatter = Chatter::quiet;
};

/// Counts the cores that this process may run on as mpirun counts its slots: two hardware threads
/// of a core are one.
int usable_cores();

/// Builds the command that runs a job. Ranks are bound to nothing.
std::vector<std::string> command(const Launcher& launcher, const JobSpec& job);

/// Returns the variables by which the user tells OpenMP to bind threads; none if one of them says
/// that it is not to.
Variables bindings_among(const Variables& variables);

/// Lists variables by which OpenMP would bind the threads of each rank of such a job to the same
/// cores: its ranks must not get them. Of a job that the user's own words start, none.
std::vector<std::string> bindings_withheld(const Launcher& launcher, const Variables& variables);

enum class User { ordinary, root };
User current_user();

/// Returns the variables that a job needs beside those of this process.
Variables job_variables(const Launcher& launcher, const JobSpec& job, User user = current_user());

/// Reads the signal that ended a rank from the launcher's own exit code, if it says so.
std::optional<int> signal_of_rank(LauncherKind kind, int exit_code);

/// Asks a launcher that failed without a word what it minds, by running `true` on as many ranks;
/// empty if that goes well. Time: that of starting a job, at most 30 seconds.
std::string complaint_of(const Launcher& launcher, const JobSpec& job);

}  // namespace halocline
