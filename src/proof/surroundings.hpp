#pragma once
// What can be found out of this machine without waking MPI or a GPU: both must not be touched
// before a job is started from here.

#include <filesystem>
#include <vector>

#include "launch/variables.hpp"
#include "proof/environment_key.hpp"
#include "proof/records.hpp"

namespace halocline::proof {

/// Counts the GPUs that this process is likely to see, by their device files. For tests,
/// HALOCLINE_ASSUME_GPU gives the number.
inline constexpr const char* assume_gpu_variable = "HALOCLINE_ASSUME_GPU";
int gpus_here(const Variables& variables, const std::filesystem::path& root = "/");

/// Kinds of pairs that occur between so many ranks of one node.
std::vector<GpuPair> pairs_between(int ranks_on_node, int gpus);

/// Gathers what the key of a proof is made of. `root` stands before /proc, /sys and the folders of
/// libraries.
Environment this_environment(const Variables& variables, const std::filesystem::path& root = "/");

}  // namespace halocline::proof
