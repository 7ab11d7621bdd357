// SPDX-License-Identifier: Apache-2.0
#pragma once
// Facts of this machine that do not need MPI or a GPU: both must not be touched before a job is
// started from this process.

#include <filesystem>
#include <vector>

#include "base/process/variables.hpp"
#include "proof/environment_key.hpp"
#include "proof/records.hpp"

namespace halocline::proof {

/// The variable that sets the number of GPUs, for tests.
inline constexpr const char* assume_gpu_variable = "HALOCLINE_ASSUME_GPU";

/// Returns the number of GPUs that a process is likely to see, from their device files.
int count_gpus(const Variables& variables, const std::filesystem::path& root = "/");

/// Returns it for this process: 0 if this build cannot use GPUs.
int gpus_here(const Variables& variables);

/// Returns the kinds of pairs that occur between that number of ranks of one node.
std::vector<GpuPair> pairs_between(int ranks_on_node, int gpus);

/// Gathers the ingredients of a proof's key. `root` is the prefix of /proc, /sys and the folders of
/// libraries.
Environment this_environment(const Variables& variables, const std::filesystem::path& root = "/");

}  // namespace halocline::proof
