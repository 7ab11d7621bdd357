// SPDX-License-Identifier: Apache-2.0
#pragma once
// MPI from its start to its end, where the end may hang.

#include <optional>

#include <halocline/communicator.hpp>

#include "mpi/threads.hpp"

namespace halocline::cli {

/// Starts MPI and ends it at destruction, as Runtime does. Should MPI_Finalize not return within
/// the limit, says so on standard error and ends the process with exit_failure.
class LimitedRuntime {
 public:
  /// Which threads call MPI. Any, only as far as MPI allows it.
  enum class Calls { from_one_thread, from_any_thread };
  /// `limit_seconds` 0: waits for ever.
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
