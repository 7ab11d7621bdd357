// SPDX-License-Identifier: Apache-2.0
#pragma once
// What can be found out of this machine without waking MPI or a GPU: both must not be touched
// before a job is started from here.

#include <filesystem>
#include <vector>

#include "base/variables.hpp"
#include "proof/environment_key.hpp"
#include "proof/records.hpp"

namespace halocline::proof {

/// Gives the number of GPUs, for tests.
inline constexpr const char* assume_gpu_variable = "HALOCLINE_ASSUME_GPU";

/// Counts the GPUs that a process is likely to see, by their device files.
int count_gpus(const Variables& variables, const std::filesystem::path& root = "/");

/// The same for this process: none if this build cannot use them.
int gpus_here(const Variables& variables);

/// Kinds of pairs that occur between so many ranks of one node.
std::vector<GpuPair> pairs_between(int ranks_on_node, int gpus);

/// Gathers what the key of a proof is made of. `root` stands before /proc, /sys and the folders of
/// libraries.
Environment this_environment(const Variables& variables, const std::filesystem::path& root = "/");

}  // namespace halocline::proof
