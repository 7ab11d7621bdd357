// SPDX-License-Identifier: Apache-2.0
#pragma once
// The cells that each thread of a rank updates: the same for the first touch of a field and for
// every sweep over it, so that a thread's cells are in its own NUMA node's memory.

#include <halocline/box.hpp>

namespace halocline::field {

/// Cells along x that are never split between threads. Floating-point sums are taken per segment of
/// a row, and then over the segments in order, so they do not depend on the number of threads.
std::int64_t segment_cells(const Box& box);

/// Returns the part of `box` that belongs to `thread` of `threads`, possibly empty. The largest
/// part is as small as possible; among equal splits, planes are split before rows and rows before
/// segments.
Box share_of(const Box& box, int threads, int thread);

}  // namespace halocline::field
