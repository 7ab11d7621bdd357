// SPDX-License-Identifier: Apache-2.0
#pragma once
// MPI with a time limit on MPI_Finalize.

#include <optional>

#include <halocline/communicator.hpp>

#include "mpi/threads.hpp"

namespace halocline::cli {

/// Starts MPI and ends it at destruction, as Runtime does. If MPI_Finalize does not return within
/// the limit, prints an error and ends the process with exit_failure.
class LimitedRuntime {
 public:
  /// The threads that call MPI; any thread only if MPI supports it.
  enum class Calls { from_one_thread, from_any_thread };
  /// `limit_seconds` 0: no limit.
  explicit LimitedRuntime(double limit_seconds, Calls calls = Calls::from_one_thread);
  ~LimitedRuntime();
  LimitedRuntime(const LimitedRuntime&) = delete;
  LimitedRuntime& operator=(const LimitedRuntime&) = delete;

 private:
  double limit_seconds_;
  std::optional<mpi::ThreadedRuntime> threaded_;
  std::optional<Runtime> runtime_;
};

}  // namespace halocline::cli
