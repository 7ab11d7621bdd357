// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bytes that name where they come from and go to, so that a wrong one can be told from a right
// one, and often from which other place it is.

#include <cstddef>
#include <cstdint>
#include <span>

#include <gtest/gtest.h>

namespace halocline::test {

/// All that bytes on their way may be mistaken in.
struct Origin {
  int sender, receiver;
  std::uint64_t part, epoch;
};

/// Gives the bytes of one origin.
class Payload {
 public:
  explicit Payload(const Origin& origin) : seed_(origin.epoch) {
    for (const std::uint64_t part : {static_cast<std::uint64_t>(origin.sender),
                                     static_cast<std::uint64_t>(origin.receiver), origin.part})
      seed_ = mix(seed_ ^ part);
  }
  std::byte operator[](std::size_t index) const {
    return static_cast<std::byte>(mix(seed_ ^ static_cast<std::uint64_t>(index)) >> 56);
  }

 private:
  static std::uint64_t mix(std::uint64_t value) {
    value += 0x9E3779B97F4A7C15u;  // splitmix64
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
    return value;
  }

  std::uint64_t seed_;
};

inline void write_payload(std::span<std::byte> bytes, const Origin& origin) {
  const Payload payload(origin);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = payload[i];
}

/// The first byte that differs, or the number of bytes.
inline std::size_t first_not_payload(std::span<const std::byte> bytes, const Origin& origin) {
  const Payload payload(origin);
  std::size_t at = 0;
  while (at < bytes.size() && bytes[at] == payload[at]) ++at;
  return at;
}

inline bool is_payload(std::span<const std::byte> bytes, const Origin& origin) {
  return first_not_payload(bytes, origin) == bytes.size();
}

/// Says which byte is wrong first, and whether the bytes are those of another epoch or part.
inline testing::AssertionResult holds_payload(std::span<const std::byte> bytes,
                                              const Origin& origin) {
  const std::size_t wrong = first_not_payload(bytes, origin);
  if (wrong == bytes.size()) return testing::AssertionSuccess();
  auto failure = testing::AssertionFailure();
  failure << "part " << origin.part << " (" << bytes.size() << " bytes) from rank " << origin.sender
          << " to rank " << origin.receiver << " in epoch " << origin.epoch
          << " is wrong from byte " << wrong;
  for (std::uint64_t back = 1; back <= 2 && back <= origin.epoch; ++back) {
    Origin older = origin;
    older.epoch -= back;
    if (is_payload(bytes, older)) return failure << "; it is that of epoch " << older.epoch;
  }
  for (std::uint64_t part = 0; part < 8; ++part) {
    Origin other = origin;
    other.part = part;
    if (is_payload(bytes, other)) return failure << "; it is part " << part;
  }
  return failure;
}

}  // namespace halocline::test
