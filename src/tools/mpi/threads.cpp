// SPDX-License-Identifier: Apache-2.0
#include "mpi/threads.hpp"

#include <mpi.h>

#include "comm/gate.hpp"

namespace halocline::mpi {

ThreadedRuntime::ThreadedRuntime() {
  int initialized = 0;
  MPI_Initialized(&initialized);
  if (initialized != 0) return;
  int provided = 0;
  comm::check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided), "MPI_Init_thread");
  started_ = true;
}

ThreadedRuntime::~ThreadedRuntime() {
  if (started_) MPI_Finalize();
}

}  // namespace halocline::mpi
