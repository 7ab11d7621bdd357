// SPDX-License-Identifier: Apache-2.0
#pragma once
// MPI with calls from several threads.

namespace halocline::mpi {

/// Starts MPI for calls from any thread, as far as it supports them, unless MPI is running already;
/// ends at destruction what it started. Every call then takes a lock.
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
