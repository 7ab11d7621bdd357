// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plain loops: the definition of what every backend must compute.

#include "stencil/sweep.hpp"

namespace halocline::stencil::reference {

/// One cell after the other in a single thread; options are not looked at.
class Backend final : public stencil::Backend {
 public:
  std::string_view name() const override { return "reference"; }
  std::unique_ptr<Sweep> make(const problem::Problem& problem, const problem::Setting& setting,
                              problem::Precision precision,
                              const SweepOptions& options) const override;
};

}  // namespace halocline::stencil::reference
