// SPDX-License-Identifier: Apache-2.0
#pragma once
// Storage for the norm of a sweep, and its copy to the host.

#include <memory>

#include "device/queue.hpp"
#include "stencil/sweep.hpp"

namespace halocline::solver {

/// Holds one norm at a time: begin(), one or more sweeps, end(), value().
class NormSlot {
 public:
  /// Allocates the storage: for sweeps on the current GPU, or on the host.
  explicit NormSlot(bool on_gpu);

  /// Sets the norm to zero and returns the address for sweeps to add to. Ordered by `stream`.
  double* begin(Stream stream);
  /// Starts the copy to the host, after the last sweep. Ordered by `stream`.
  void end(Stream stream);
  /// Waits for the copy and returns the norm.
  double value() const;

 private:
  std::shared_ptr<void> place_, on_host_;  // the same on the host
  device::Event arrived_;
};

}  // namespace halocline::solver
