// SPDX-License-Identifier: Apache-2.0
#pragma once
// Time lines of all ranks, for the trace viewers of Chrome and Perfetto.

#include <string>
#include <vector>

#include <halocline/solver.hpp>

namespace halocline::solver {

/// Writes every rank's spans to `path`. Collective; rank 0 holds the whole text.
void write_trace(const Communicator& communicator, const std::string& path);

/// Adds up the call sites of all ranks, busiest first, on rank 0; empty elsewhere. Collective.
std::vector<SiteProfile> gather_profile(const Communicator& communicator);

}  // namespace halocline::solver
