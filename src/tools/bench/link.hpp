// SPDX-License-Identifier: Apache-2.0
#pragma once
// The rate of copies between GPUs of one node, which is a ceiling for exchanges.

#include <halocline/communicator.hpp>
#include <halocline/grid.hpp>

namespace halocline::bench {

/// Returns the GB/s that each GPU sends if all ranks copy to their neighbours in `grid` at once: 64
/// MiB in equal parts from the rank with most neighbours, parts of the same size from others; the
/// slowest rank's median. All ranks must be on one node with a current GPU, and some rank must have
/// a neighbour. Collective; throws resource, and device if GPUs do not reach each other, the same
/// on every rank.
double link_gigabytes_per_second(const Communicator& communicator, const Grid& grid,
                                 Neighbours neighbours);

}  // namespace halocline::bench
