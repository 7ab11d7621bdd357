// SPDX-License-Identifier: Apache-2.0
#pragma once
// Launch lines and batch scripts for this machine, as pure functions of the evidence.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/findings.hpp"

namespace halocline::doctor {

/// Kinds of launchers, by their syntax for binding and variables. as_given: the user's command,
/// unchanged.
enum class Starter { open_mpi, hydra, pals, srun, as_given };

enum class Batch { slurm, pbs };
std::optional<Batch> batch_named(std::string_view name);

/// A recommended way to start a run.
struct Start {
  Starter starter = Starter::open_mpi;
  std::string launcher = "mpirun";
  bool is_known =
      true;  ///< the launcher was recognised; otherwise its kind is guessed from the MPI
  int nodes = 1;
  int ranks = 1, gpus = 0;  ///< on each node
  int cores_per_rank = 1;
  std::string srun_mpi = {};                ///< for srun --mpi: "pmix"; empty: the site's default
  std::vector<std::string> words = {};      ///< for as_given: the user's command
  std::vector<std::string> arguments = {};  ///< the user's own, placed before ours
  Variables settings = {};
  bool as_root = false;
};

/// Recommends one rank for each GPU, or without GPUs for each core. If a launcher command of the
/// user's reached several nodes, recommends that command.
Start recommended_start(const Evidence& evidence, User user);

/// Returns "mpirun -n 4 ... halocline solve ...", on one line.
std::string launch_line(const Start& start);

/// Returns the command that makes a run with --checkpoint save its state and end.
std::string stop_line(const Start& start);

/// Breaks a command into lines of about 80 columns, continued by backslashes.
std::vector<std::string> in_lines(const std::string& command);

/// Returns a batch script for nodes like this one.
std::string batch_script(const Start& start, Batch batch);

}  // namespace halocline::doctor
