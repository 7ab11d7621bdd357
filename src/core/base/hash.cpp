// SPDX-License-Identifier: Apache-2.0
#include "base/hash.hpp"

#include <cstring>

namespace halocline {
namespace {

template <class Bits>
std::uint64_t hash_as(const std::byte* elements, std::int64_t count, std::uint64_t first) {
  std::uint64_t hash = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    Bits bits{};
    std::memcpy(&bits, elements + i * static_cast<std::int64_t>(sizeof bits), sizeof bits);
    hash += mix(bits ^ mix(first + static_cast<std::uint64_t>(i) + 1));
  }
  return hash;
}

}  // namespace

std::uint64_t hash_of(const std::byte* elements, std::int64_t count, std::int64_t element_bytes,
                      std::uint64_t first) {
  if (element_bytes == 8) return hash_as<std::uint64_t>(elements, count, first);
  if (element_bytes == 4) return hash_as<std::uint32_t>(elements, count, first);
  return hash_as<std::uint8_t>(elements, count * element_bytes,
                               first * static_cast<std::uint64_t>(element_bytes));
}

}  // namespace halocline
