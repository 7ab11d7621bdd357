// SPDX-License-Identifier: Apache-2.0
#pragma once
// Capabilities that the MPI library reports. For people only, since the reports may be wrong.

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace halocline::mpi {

/// Calls and memory for GPUs and pipelines that only some MPI libraries support.
struct Extras {
  std::optional<bool> stream_calls = {};  ///< MPIX_Stream_create and MPIX_Send_enqueue, of MPICH
  std::optional<bool> partitioned_calls = {};  ///< MPI_Psend_init, of MPI 4.0
  /// Kinds of memory that it accepts: "mpi", "system", "cuda:device" (MPI 4.1).
  std::vector<std::string> memory_kinds = {};
};

struct ReportedCapabilities {
  std::string thread_level;            ///< "funneled": the level of this program
  std::optional<bool> takes_gpu = {};  ///< MPIX_Query_cuda_support(), if the library has it
  /// Control variables that affect GPUs and copies between processes.
  std::vector<std::pair<std::string, std::string>> settings = {};
  Extras extras = {};
};

/// Queries the library; MPI must be running. Not collective.
ReportedCapabilities reported_capabilities();

}  // namespace halocline::mpi
