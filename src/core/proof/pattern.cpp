// SPDX-License-Identifier: Apache-2.0
#include "proof/pattern.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace halocline::proof {
namespace {

constexpr std::int64_t word_bytes = sizeof(std::uint64_t);

/// Returns the eight bytes from `at` on: cheap, since every plan generates all bytes.
std::uint64_t pattern(std::uint64_t seed, std::int64_t at) {
  return seed + static_cast<std::uint64_t>(at / word_bytes) * word_step;
}

}  // namespace

std::uint64_t seed_of(int sender, int receiver, int round) {
  return static_cast<std::uint64_t>(sender) * 0x9E3779B97F4A7C15u +
         static_cast<std::uint64_t>(receiver) * 0xBF58476D1CE4E5B9u +
         static_cast<std::uint64_t>(round + 1) * 0x94D049BB133111EBu;
}

void fill(std::byte* to, std::int64_t bytes, std::uint64_t seed) {
  for (std::int64_t at = 0; at < bytes; at += word_bytes) {
    const std::uint64_t word = pattern(seed, at);
    std::memcpy(to + at, &word, static_cast<std::size_t>(std::min(word_bytes, bytes - at)));
  }
}

std::int64_t first_difference(const std::byte* from, std::int64_t bytes, std::uint64_t seed) {
  for (std::int64_t at = 0; at < bytes; at += word_bytes) {
    const std::uint64_t word = pattern(seed, at);
    const std::int64_t count = std::min(word_bytes, bytes - at);
    if (std::memcmp(from + at, &word, static_cast<std::size_t>(count)) == 0) continue;
    const auto* expected = reinterpret_cast<const std::byte*>(&word);
    return at + (std::mismatch(expected, expected + count, from + at).first - expected);
  }
  return bytes;
}

std::string text_of(const WrongByte& wrong, const std::string& detail) {
  return fmt::format("byte {} of {} from rank {} to rank {}{} did not arrive as sent", wrong.at,
                     wrong.bytes, wrong.from, wrong.to, detail);
}

}  // namespace halocline::proof
