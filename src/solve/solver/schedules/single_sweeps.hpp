// SPDX-License-Identifier: Apache-2.0
#pragma once
// One sweep after the other, each by itself: what schedules share that differ in how a halo comes.

#include "device/stream_clock.hpp"
#include "solver/stepper.hpp"
#include "stencil/sweep.hpp"

namespace halocline::solver {

class Runner;

/// A sweep that needs fresh halos.
struct Step {
  stencil::SweepArguments arguments;  ///< of the whole region
  std::int64_t level;                 ///< that it reads, whose halos are to be exchanged
};

class SingleSweeps : public Stepper {
 public:
  explicit SingleSweeps(Runner& runner);
  /// Queues one sweep: with stale halos through exchange_and_sweep(), else, in a deep halo, alone.
  void advance(Run& run, std::int64_t most) override;

 protected:
  /// Whether a region is the first one of its sweep: then it begins the norm, and reduces the one
  /// before.
  enum class Part { first, more };

  /// Queues the exchange of a step's level and its sweep, in some order that is right.
  virtual void exchange_and_sweep(const Step& step, Stream stream) = 0;
  /// Sweeps a region and books the time as compute.
  void sweep(const stencil::SweepArguments& arguments, const Box& region, Part part, Stream stream);

  Runner& runner() { return runner_; }
  device::StreamClock& clock() { return clock_; }  ///< of sweeps

 private:
  Box region(std::int64_t reach) const;

  Runner& runner_;
  device::StreamClock clock_;
};

}  // namespace halocline::solver
