// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whether the fields of a sweep stay in the caches.

#include <cstdint>

namespace halocline::stencil::cpu {

/// The outermost level of cache.
struct Caches {
  std::int64_t bytes = 0;  ///< of one such cache; 0 if not known
  int processors = 1;      ///< that share one
  int count = 1;           ///< of such caches
};

/// Asks the operating system, once.
const Caches& caches();

/// What a rank works on.
struct Footprint {
  std::int64_t bytes;
  int ranks_on_node;
  int threads;
};

/// Whether so little of it stays in the caches from one sweep to the next that stores had better
/// go past them. False if the caches are not known.
bool exceeds(const Caches& caches, const Footprint& footprint);

}  // namespace halocline::stencil::cpu
