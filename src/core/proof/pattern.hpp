// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bytes that tell who sent them to whom, and where they stand.

#include <cstddef>
#include <cstdint>
#include <string>

namespace halocline::proof {

/// What each word of 8 bytes is above the one before; the first is the seed.
inline constexpr std::uint64_t word_step = 8 * 0xD6E8FEB86659FD93u;

/// Differs for every sender, receiver and round.
std::uint64_t seed_of(int sender, int receiver, int round);

void fill(std::byte* to, std::int64_t bytes, std::uint64_t seed);

/// Returns the first byte that is not as fill() makes it, or `bytes`.
std::int64_t first_difference(const std::byte* from, std::int64_t bytes, std::uint64_t seed);

/// A byte that is not what was sent.
struct WrongByte {
  std::int64_t at, bytes;  ///< of so many
  int from, to;            ///< ranks
};
/// "byte 8 of 64 from rank 0 to rank 1 did not arrive as sent"; `detail` goes before the verb.
std::string text_of(const WrongByte& wrong, const std::string& detail = "");

}  // namespace halocline::proof
