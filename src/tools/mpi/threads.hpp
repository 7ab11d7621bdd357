// SPDX-License-Identifier: Apache-2.0
#pragma once
// Threads beside the one that calls MPI.

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

}  // namespace halocline::mpi
