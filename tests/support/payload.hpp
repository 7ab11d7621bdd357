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

inline std::byte payload(const Origin& origin, std::size_t index) {
  std::uint64_t mixed = origin.epoch;
  for (const std::uint64_t part :
       {static_cast<std::uint64_t>(origin.sender), static_cast<std::uint64_t>(origin.receiver),
        origin.part, static_cast<std::uint64_t>(index)}) {
    mixed = (mixed ^ part) + 0x9E3779B97F4A7C15u;  // splitmix64
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBu;
  }
  return static_cast<std::byte>(mixed >> 56);
}

inline void write_payload(std::span<std::byte> bytes, const Origin& origin) {
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = payload(origin, i);
}

inline bool is_payload(std::span<const std::byte> bytes, const Origin& origin) {
  for (std::size_t i = 0; i < bytes.size(); ++i)
    if (bytes[i] != payload(origin, i)) return false;
  return true;
}

/// Says which byte is wrong first, and whether the bytes are those of another epoch or part.
inline testing::AssertionResult holds_payload(std::span<const std::byte> bytes,
                                              const Origin& origin) {
  std::size_t wrong = 0;
  while (wrong < bytes.size() && bytes[wrong] == payload(origin, wrong)) ++wrong;
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
