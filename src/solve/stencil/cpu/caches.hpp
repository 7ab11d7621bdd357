// SPDX-License-Identifier: Apache-2.0
#pragma once
// Decides whether the fields of a sweep stay in the caches.

#include <cstdint>

namespace halocline::stencil::cpu {

/// The outermost level of cache.
struct Caches {
  std::int64_t bytes = 0;  ///< of one cache; 0 if not known
  int processors = 1;      ///< that share one cache
  int count = 1;           ///< of caches
  /// Of a processor's second-level cache; 0 if not known.
  std::int64_t second_level_bytes = 0;
};

/// Returns the caches of this machine; asks the operating system once.
const Caches& caches();

/// The memory that a rank sweeps over, and the ranks and threads that share its node.
struct Footprint {
  std::int64_t bytes;
  int ranks_on_node;
  int threads;
};

/// Whether the fields exceed the caches so far that stores that bypass them are faster. False if
/// the caches are not known.
bool exceeds(const Caches& caches, const Footprint& footprint);

}  // namespace halocline::stencil::cpu
