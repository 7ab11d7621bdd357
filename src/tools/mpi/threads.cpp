// SPDX-License-Identifier: Apache-2.0
#include "mpi/threads.hpp"

#include <mpi.h>

#include "comm/start.hpp"

namespace halocline::mpi {

ThreadedRuntime::ThreadedRuntime() {
  int initialized = 0;
  MPI_Initialized(&initialized);
  if (initialized != 0) return;
  comm::start_mpi(MPI_THREAD_MULTIPLE);
  started_ = true;
}

ThreadedRuntime::~ThreadedRuntime() {
  if (started_) MPI_Finalize();
}

}  // namespace halocline::mpi
