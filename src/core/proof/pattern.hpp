// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bytes that identify their sender, receiver and position.

#include <cstddef>
#include <cstdint>
#include <string>

namespace halocline::proof {

/// The difference between a word of 8 bytes and the previous one; the first word is the seed.
inline constexpr std::uint64_t word_step = 8 * 0xD6E8FEB86659FD93u;

/// Returns a seed that differs for every sender, receiver and round.
std::uint64_t seed_of(int sender, int receiver, int round);

void fill(std::byte* to, std::int64_t bytes, std::uint64_t seed);

/// Returns the index of the first byte that differs from fill(), or `bytes`.
std::int64_t first_difference(const std::byte* from, std::int64_t bytes, std::uint64_t seed);

/// A byte that differs from the sent one.
struct WrongByte {
  std::int64_t at, bytes;  ///< its index, and the number of bytes
  int from, to;            ///< ranks
};
/// "byte 8 of 64 from rank 0 to rank 1 did not arrive as sent"; `detail` goes before the verb.
std::string text_of(const WrongByte& wrong, const std::string& detail = "");

}  // namespace halocline::proof
