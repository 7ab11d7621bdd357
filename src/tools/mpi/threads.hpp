// SPDX-License-Identifier: Apache-2.0
#pragma once
// Threads beside the one that calls MPI.

#include <string>

namespace halocline::mpi {

/// Starts MPI so that any thread may call it at any time, as far as it is able to, unless it runs
/// already; ends at destruction what it started. Costs every call a lock.
class ThreadedRuntime {
 public:
  ThreadedRuntime();
  ~ThreadedRuntime();
  ThreadedRuntime(const ThreadedRuntime&) = delete;
  ThreadedRuntime& operator=(const ThreadedRuntime&) = delete;

 private:
  bool started_ = false;
};

/// What MPI allows threads to do: "MPI_THREAD_FUNNELED".
std::string thread_support();
/// True for MPI_THREAD_MULTIPLE.
bool any_thread_may_call();

}  // namespace halocline::mpi
