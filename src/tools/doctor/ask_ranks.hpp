// SPDX-License-Identifier: Apache-2.0
#pragma once
// Doctor's first job: ranks that say what they, their nodes and what is between these are.

#include "doctor/facts.hpp"
#include "probe/jobs.hpp"

namespace halocline::doctor {

/// Asks the ranks of a job for facts. How it ended is among them. Throws as probe::run_probe().
ProbeFacts ask_ranks(const probe::Probes& probes);

}  // namespace halocline::doctor
