// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the MPI library says of itself: for people, since what it says need not be so.

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace halocline::mpi {

struct Claims {
  std::string thread_level;            ///< "funneled": what this program was given
  std::optional<bool> takes_gpu = {};  ///< MPIX_Query_cuda_support(), where the library has it
  /// Control variables that decide over GPUs and copies between processes, of those it has.
  std::vector<std::pair<std::string, std::string>> settings = {};
};

/// Asks the library; MPI must be running. Not collective.
Claims claims();

}  // namespace halocline::mpi
