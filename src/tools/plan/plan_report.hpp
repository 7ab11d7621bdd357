// SPDX-License-Identifier: Apache-2.0
#pragma once
// A plan as a report.

#include "plan/prospects.hpp"
#include "report/report.hpp"

namespace halocline::plan {

Report report_of(const Plan& plan);

}  // namespace halocline::plan
