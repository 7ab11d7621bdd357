// SPDX-License-Identifier: Apache-2.0
#pragma once
// What copies between GPUs of one node reach: the ceiling of an exchange between them.

#include <halocline/communicator.hpp>
#include <halocline/grid.hpp>

namespace halocline::bench {

/// GB/s that each rank's GPU sends when all ranks at once copy to their neighbours in `grid`: 64
/// MiB in equal parts from the rank that has most of them, parts of the same size from the others;
/// the median, the slowest rank's. All ranks are on one node, each with a current GPU, and some
/// rank has a neighbour. Collective; throws, the same on every rank, resource, and device where
/// GPUs do not reach each other.
double link_gigabytes_per_second(const Communicator& communicator, const Grid& grid,
                                 Neighbours neighbours);

}  // namespace halocline::bench
