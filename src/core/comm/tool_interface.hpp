// SPDX-License-Identifier: Apache-2.0
#pragma once
// MPI's tool interface. For comm, transport and tools only: it includes mpi.h.

#include <mpi.h>

namespace halocline::comm {

/// Keeps the tool interface open.
class ToolInterface {
 public:
  /// MPI must be running. Asks for the threads that MPI already allows: what is asked for here,
  /// Open MPI 4.1 takes for all of MPI, and MPI_Query_thread() then reports it.
  ToolInterface() {
    int level = MPI_THREAD_SINGLE, provided = 0;
    MPI_Query_thread(&level);
    is_open_ = MPI_T_init_thread(level, &provided) == MPI_SUCCESS;
  }
  ~ToolInterface() {
    if (is_open_) MPI_T_finalize();
  }
  ToolInterface(const ToolInterface&) = delete;
  ToolInterface& operator=(const ToolInterface&) = delete;

  bool is_open() const { return is_open_; }

 private:
  bool is_open_;
};

}  // namespace halocline::comm
