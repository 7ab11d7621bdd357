// SPDX-License-Identifier: Apache-2.0
#pragma once
// The cpu backend: the widest vectors of the processor, and threads.

#include "stencil/sweep.hpp"

namespace halocline::stencil::cpu {

class Backend final : public stencil::Backend {
 public:
  std::string_view name() const override { return "cpu"; }
  /// Throws usage for less than one thread or an unknown vector level, unavailable if this
  /// processor lacks the level.
  std::unique_ptr<Sweep> make(const problem::Problem& problem, const problem::Setting& setting,
                              problem::Precision precision,
                              const SweepOptions& options) const override;
};

}  // namespace halocline::stencil::cpu
