// SPDX-License-Identifier: Apache-2.0
#pragma once
// Steppers that queue one pass at a time and differ in how halos arrive.

#include "device/stream_clock.hpp"
#include "solver/engine/stepper.hpp"
#include "stencil/ghosts.hpp"
#include "stencil/pass.hpp"

namespace halocline::solver {

class Runner;

/// A pass and what it needs.
struct Step {
  stencil::Pass pass;         ///< over the whole region
  std::int64_t level;         ///< the input level, whose halos to exchange
  std::int64_t fresh_layers;  ///< of that level's halos, counted in sweeps
};

class PassStepper : public Stepper {
 public:
  explicit PassStepper(Runner& runner);
  /// Queues one pass: through exchange_and_sweep() if halos are stale, else, in a deep halo, alone.
  void advance(Run& run, std::int64_t most) override;

 protected:
  /// Whether a region is the first of its pass: the first one begins the norm and reduces the
  /// previous norm.
  enum class Part { first, more };

  /// Queues the exchange of a step's level and its pass, in any valid order.
  virtual void exchange_and_sweep(const Step& step, Stream stream) = 0;
  /// Queues a step's pass, where earlier work of the stream fills the halo that it reads.
  virtual void sweep_in_halo(const Step& step, Stream stream);
  /// Writes the ghosts of the step's level that depend on fields or time.
  void fill_ghosts(const Step& step, stencil::Ghosts::Beside beside, Stream stream);
  /// Sweeps a region and books the time as compute.
  void sweep(const stencil::Pass& pass, const Box& region, Part part, Stream stream);

  Runner& runner() { return runner_; }
  device::StreamClock& clock() { return clock_; }  ///< of passes

 private:
  Box region(std::int64_t sweeps) const;

  Runner& runner_;
  device::StreamClock clock_;
};

}  // namespace halocline::solver
