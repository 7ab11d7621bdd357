// SPDX-License-Identifier: Apache-2.0
#pragma once
// Passes over memory by several sweeps of an update.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <halocline/stream.hpp>

#include "stencil/sweep.hpp"

namespace halocline::stencil::cuda {

class Passes {
 public:
  virtual ~Passes() = default;
  /// Returns how many sweeps, at most `most`, one pass over the region does; 1 if none does
  /// several.
  virtual std::int64_t sweeps_in(std::int64_t most, const Box& region) const = 0;
  /// Does a pass of sweeps_in() sweeps over fields in rows of vectors, which all begin at the same
  /// columns. Ordered by `stream`.
  virtual void run(const Pass& pass, Stream stream) = 0;
  virtual double compile_seconds() const = 0;
};

/// Compiles the kernels of passes by at most `options.sweeps_per_pass` sweeps, and by fewer for
/// what those leave over. Collective if the options name a communicator. Throws as make_sweep().
std::unique_ptr<Passes> make_passes(const problem::Model& model, const SweepOptions& options);

/// Whether these kernels are at hand; compiles those that are not where that is allowed. On any
/// thread that uses the rank's GPU. Throws as make_passes().
bool has_passes_at_hand(const problem::Model& model, const SweepOptions& options, bool may_compile);

}  // namespace halocline::stencil::cuda
