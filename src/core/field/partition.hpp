// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which thread of a rank updates which cells: the same for the first touch of a field and for
// every sweep over it, so that a thread finds its cells in the memory next to it.

#include <halocline/box.hpp>

namespace halocline::field {

/// Cells along x that are never split between threads. What is added up in floating point is
/// added up per segment of a row, and the segments in order: so sums do not depend on threads.
std::int64_t segment_cells(const Box& box);

/// The part of `box` that belongs to `thread` of `threads`, possibly empty. The largest part is
/// as small as can be; of equals, planes are split before rows and rows before segments.
Box share_of(const Box& box, int threads, int thread);

}  // namespace halocline::field
