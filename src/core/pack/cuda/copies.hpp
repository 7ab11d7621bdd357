// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies by a GPU.

#include <cstdint>
#include <memory>

#include "pack/pack.hpp"

namespace halocline::pack::cuda {

/// Lists the copies in the current GPU's memory. Throws resource.
std::shared_ptr<const Copies> make_copies(const std::vector<Bundle>& bundles, Direction direction,
                                          const std::vector<Move>& moves);

/// Returns the bytes of the widest words that they copy; at least 1.
std::int64_t widest_word(const Copies& copies);

/// Queues the copies in one launch: packing and moves, then unpacking. Either may be null.
void run(const Copies* first, const Copies* second, Stream stream, Shifts shifts);

}  // namespace halocline::pack::cuda
