// SPDX-License-Identifier: Apache-2.0
#pragma once
// Vectors as wide as the processor has, and threads.

#include "stencil/sweep.hpp"

namespace halocline::stencil::cpu {

class Backend final : public stencil::Backend {
 public:
  std::string_view name() const override { return "cpu"; }
  /// Throws usage if there are no threads or no such vector level, unavailable if this processor
  /// does not have it.
  std::unique_ptr<Sweep> make(const problem::Problem& problem, const problem::Setting& setting,
                              problem::Precision precision,
                              const SweepOptions& options) const override;
};

}  // namespace halocline::stencil::cpu
