// SPDX-License-Identifier: Apache-2.0
#include "mpi/threads.hpp"

#include <mpi.h>

#include "comm/gate.hpp"

namespace halocline::mpi {
namespace {

int level() {
  int provided = MPI_THREAD_SINGLE;
  comm::check(MPI_Query_thread(&provided), "MPI_Query_thread");
  return provided;
}

}  // namespace

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

std::string thread_support() {
  switch (level()) {
    case MPI_THREAD_MULTIPLE:
      return "MPI_THREAD_MULTIPLE";
    case MPI_THREAD_SERIALIZED:
      return "MPI_THREAD_SERIALIZED";
    case MPI_THREAD_FUNNELED:
      return "MPI_THREAD_FUNNELED";
    default:
      return "MPI_THREAD_SINGLE";
  }
}

bool any_thread_may_call() { return level() == MPI_THREAD_MULTIPLE; }

}  // namespace halocline::mpi
