// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the MPI library says of itself: for people, since what it says need not be so.

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace halocline::mpi {

/// Calls and memory for GPUs and pipelines, which only some MPI libraries have.
struct Extras {
  std::optional<bool> stream_calls = {};  ///< MPIX_Stream_create and MPIX_Send_enqueue, of MPICH
  std::optional<bool> partitioned_calls = {};  ///< MPI_Psend_init, of MPI 4.0
  /// Kinds of memory that it says it takes: "mpi", "system", "cuda:device" (MPI 4.1).
  std::vector<std::string> memory_kinds = {};
};

struct ReportedCapabilities {
  std::string thread_level;            ///< "funneled": what this program was given
  std::optional<bool> takes_gpu = {};  ///< MPIX_Query_cuda_support(), where the library has it
  /// Control variables that decide over GPUs and copies between processes, of those it has.
  std::vector<std::pair<std::string, std::string>> settings = {};
  Extras extras = {};
};

/// Asks the library; MPI must be running. Not collective.
ReportedCapabilities reported_capabilities();

}  // namespace halocline::mpi
