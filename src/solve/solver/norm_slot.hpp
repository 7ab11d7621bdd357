// SPDX-License-Identifier: Apache-2.0
#pragma once
// The place where a sweep leaves its norm, and the way from there to the host.

#include <memory>

#include "device/queue.hpp"
#include "stencil/sweep.hpp"

namespace halocline::solver {

/// One norm at a time: begin(), a sweep or several, end(), value().
class NormSlot {
 public:
  /// For sweeps on the host, or on the current GPU.
  explicit NormSlot(bool on_gpu);

  /// Sets the norm to zero, in the order of `stream`; returns the place for sweeps to add it to.
  double* begin(Stream stream);
  /// After the last sweep: sends it on its way to the host.
  void end(Stream stream);
  /// Blocks until it is here.
  double value() const;

 private:
  std::shared_ptr<void> place_, on_host_;  // the same on the host
  device::Event arrived_;
};

}  // namespace halocline::solver
