// SPDX-License-Identifier: Apache-2.0
#pragma once
// The key of a proof: the MPI, the driver, the GPUs, and the variables that affect them. A proof is
// valid only for the key it was made under.

#include <string>
#include <string_view>
#include <vector>

#include "base/process/variables.hpp"

namespace halocline::proof {

struct Environment {
  Variables variables;
  std::string mpi;                     ///< "Open MPI 4.1.4"
  std::string mpi_library;             ///< path of the file; empty if MPI is linked statically
  std::vector<std::string> libraries;  ///< the files in use, with text that changes when they do
  std::string driver;                  ///< "580.65.06"
  std::vector<std::string> gpus;       ///< names; duplicates count once
};

struct EnvironmentKey {
  std::string hash;                      ///< 16 hex digits
  std::vector<std::string> ingredients;  ///< "UCX_TLS=any", "MPI: Open MPI 4.1.4", sorted
};

/// Returns the key of lines in any order, each counted once.
EnvironmentKey key_of(std::vector<std::string> ingredients);

/// Returns the key: the same in a shell, in a rank that a launcher started from it, and in a probe
/// job of that rank, because variables that launchers set by themselves do not count.
EnvironmentKey environment_key(const Environment& environment);

/// Returns whether a launcher uses this variable to communicate with its ranks: a job started from
/// inside a rank must not inherit it, or would act as part of the first job. Variables that the
/// user set, also by --mca options, which reach a rank as OMPI_MCA_*, do not count.
bool is_launcher_internal(std::string_view name);

/// Returns the names of those that are set.
std::vector<std::string> launcher_internals(const Variables& variables);

}  // namespace halocline::proof
