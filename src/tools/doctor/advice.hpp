// SPDX-License-Identifier: Apache-2.0
#pragma once
// How to start a run here: launch lines and batch scripts, pure functions of what was found.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/findings.hpp"

namespace halocline::doctor {

/// Who starts ranks: launchers with words of their own for binding and variables.
enum class Starter { open_mpi, hydra, pals, srun, as_given };

enum class Batch { slurm, pbs };
std::optional<Batch> batch_named(std::string_view name);

/// What a run needs.
struct Start {
  Starter starter = Starter::open_mpi;
  std::string launcher = "mpirun";
  bool is_known = true;  ///< whether the launcher was recognised; else the MPI suggests its kind
  int nodes = 1;
  int ranks = 1, gpus = 0;  ///< on each node
  int cores_per_rank = 1;
  std::string srun_mpi = {};                ///< of srun: "pmix"; empty: as the site has it
  std::vector<std::string> words = {};      ///< as_given: the user's own
  std::vector<std::string> arguments = {};  ///< of the launcher, before ours: the user's
  Variables settings = {};
  bool as_root = false;
};

/// The start that suits what is here: a rank for each GPU, else for each core. Where a launcher of
/// the user's own words reached several nodes, those words.
Start recommended_start(const Evidence& evidence, User user);

/// "mpirun -n 4 ... halocline solve ...", on one line.
std::string launch_line(const Start& start);

/// What tells a run that writes checkpoints to save one and end, in time to do so.
std::string stop_line(const Start& start);

/// A command in lines of 80 columns or so that a shell reads as one.
std::vector<std::string> in_lines(const std::string& command);

/// A script for a node like this one.
std::string batch_script(const Start& start, Batch batch);

}  // namespace halocline::doctor
