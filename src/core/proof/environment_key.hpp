// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a proof depends on: the MPI, the driver, the GPUs, and the variables that change what they
// do. A proof holds for the key it was made under.

#include <string>
#include <string_view>
#include <vector>

#include "base/variables.hpp"

namespace halocline::proof {

struct Environment {
  Variables variables;
  std::string mpi;                     ///< "Open MPI 4.1.4"
  std::string mpi_library;             ///< path of the file; empty if MPI is linked statically
  std::vector<std::string> libraries;  ///< the files at work, in words that change when they do
  std::string driver;                  ///< "580.65.06"
  std::vector<std::string> gpus;       ///< names; the same one twice counts once
};

struct EnvironmentKey {
  std::string hash;                      ///< 16 hex digits
  std::vector<std::string> ingredients;  ///< "UCX_TLS=any", "MPI: Open MPI 4.1.4", sorted
};

/// Of lines in any order, each counted once.
EnvironmentKey key_of(std::vector<std::string> ingredients);

/// The same in a shell, in a rank that a launcher started from there, and in a probe job of that
/// rank: what launchers set by themselves does not count.
EnvironmentKey environment_key(const Environment& environment);

/// Tells variables by which a launcher speaks to one of its ranks: a job started from inside that
/// rank must not get them, or takes itself for a part of the first. What the user set, also as
/// --mca options, which reach a rank as OMPI_MCA_*, is none of them.
bool is_launcher_internal(std::string_view name);

/// Names those of them that are there.
std::vector<std::string> launcher_internals(const Variables& variables);

}  // namespace halocline::proof
