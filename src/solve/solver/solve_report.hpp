// SPDX-License-Identifier: Apache-2.0
#pragma once
// The report of `halocline solve`: one tree for text and JSON.

#include <halocline/solver.hpp>

#include "report/report.hpp"

namespace halocline::solver {

enum class ProfileTable { no, yes };

Report report_of(const SolveResult& result, ProfileTable profile);

}  // namespace halocline::solver
