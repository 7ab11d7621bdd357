// SPDX-License-Identifier: Apache-2.0
#pragma once
// Timelines of mesh exchanges, for terminals and for trace viewers.

#include <string>
#include <vector>

#include "lab/mesh.hpp"

namespace halocline::bench {

/// Draws one line of `columns` characters for each rank: s while bytes go out, r while they come
/// in, x for both, a dot while it waits for neighbours to do their part, nothing once it is done.
/// Bytes can move when both sides have come to their calls, or at once if MPI keeps a copy.
std::vector<std::string> bars_of(const MeshTimeline& timeline, int columns);

/// Writes all timelines of a result one after the other, a process for each rank and a thread for
/// each of its messages, as chrome://tracing and Perfetto read them.
std::string trace_of(const MeshBenchResult& result);

}  // namespace halocline::bench
