// SPDX-License-Identifier: Apache-2.0
#pragma once
// The facts in doctor's report: of the first node, of the ranks, of all nodes.

#include <vector>

#include "doctor/facts.hpp"
#include "doctor/report.hpp"

namespace halocline::doctor {

/// Returns the GPUs that the first rank sees; null if there are none.
const std::vector<machine::VisibleGpu>* gpus_of(const Facts& facts);

void add_facts(Report& report, const Evidence& evidence, FactsFor readers);

}  // namespace halocline::doctor
