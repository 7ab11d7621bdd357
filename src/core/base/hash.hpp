// SPDX-License-Identifier: Apache-2.0
#pragma once
// A hash of numbered elements, which shows changed, lost and swapped ones, and which several
// processes compute in parts.

#include <cstddef>
#include <cstdint>

namespace halocline {

/// Mixes the bits of a number; no two numbers give the same (splitmix64).
constexpr std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

/// Returns the sum, modulo 2^64, of mix(bits ^ mix(number + 1)) over elements of 4 or 8 bytes, or
/// of their bytes if they have another size; the first has number `first`. Sums of parts add up to
/// that of the whole. Any change of one element changes it.
std::uint64_t hash_of(const std::byte* elements, std::int64_t count, std::int64_t element_bytes,
                      std::uint64_t first = 0);

}  // namespace halocline
