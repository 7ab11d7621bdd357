// SPDX-License-Identifier: Apache-2.0
#pragma once
// The reference backend: plain loops that define the result of every backend.

#include "stencil/sweep.hpp"

namespace halocline::stencil::reference {

/// Updates one cell after the other in a single thread; ignores the options.
class Backend final : public stencil::Backend {
 public:
  std::string_view name() const override { return "reference"; }
  std::unique_ptr<Sweep> make(const problem::Problem& problem, const problem::Setting& setting,
                              problem::Precision precision,
                              const SweepOptions& options) const override;
};

}  // namespace halocline::stencil::reference
