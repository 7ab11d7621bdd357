#pragma once
// Whether the fields of a sweep fit the caches.

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

/// Whether `bytes` per rank, on `ranks` ranks of `threads` threads each, are more than the caches
/// keep from one sweep to the next.
bool exceeds(const Caches& caches, std::int64_t bytes, int ranks, int threads);

}  // namespace halocline::stencil::cpu
