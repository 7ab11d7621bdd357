// SPDX-License-Identifier: Apache-2.0
#pragma once
// Steppers that queue one sweep at a time and differ in how halos arrive.

#include "device/stream_clock.hpp"
#include "solver/engine/stepper.hpp"
#include "stencil/ghosts.hpp"
#include "stencil/sweep.hpp"

namespace halocline::solver {

class Runner;

/// A sweep.
struct Step {
  stencil::SweepArguments arguments;  ///< of the whole region
  std::int64_t level;                 ///< the input level, whose halos to exchange
  std::int64_t fresh_layers;          ///< of that level's halos, counted in sweeps
};

class SingleSweeps : public Stepper {
 public:
  explicit SingleSweeps(Runner& runner);
  /// Queues one sweep: through exchange_and_sweep() if halos are stale, else, in a deep halo,
  /// alone.
  void advance(Run& run, std::int64_t most) override;

 protected:
  /// Whether a region is the first of its sweep: the first one begins the norm and reduces the
  /// previous norm.
  enum class Part { first, more };

  /// Queues the exchange of a step's level and its sweep, in any valid order.
  virtual void exchange_and_sweep(const Step& step, Stream stream) = 0;
  /// Queues a step's sweep, where earlier work of the stream fills the halo that it reads.
  virtual void sweep_in_halo(const Step& step, Stream stream);
  /// Writes the ghosts of the step's level that depend on fields or time.
  void fill_ghosts(const Step& step, stencil::Ghosts::Beside beside, Stream stream);
  /// Sweeps a region and books the time as compute.
  void sweep(const stencil::SweepArguments& arguments, const Box& region, Part part, Stream stream);

  Runner& runner() { return runner_; }
  device::StreamClock& clock() { return clock_; }  ///< of sweeps

 private:
  Box region(std::int64_t sweeps) const;

  Runner& runner_;
  device::StreamClock clock_;
};

}  // namespace halocline::solver
