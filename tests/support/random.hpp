// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random cases that can be had again: the same seed gives the same cases on every rank.

#include <cstdint>
#include <string>

#include "base/process/environment.hpp"

namespace halocline::test {

/// HALOCLINE_TEST_SEED, or 1.
inline std::uint64_t seed() {
  const auto text = environment("HALOCLINE_TEST_SEED");
  return text ? std::stoull(*text) : 1;
}

/// What to say of a failure in a random case.
inline std::string how_to_repeat(std::uint64_t number) {
  return "case " + std::to_string(number) + " of HALOCLINE_TEST_SEED=" + std::to_string(seed());
}

class Random {
 public:
  explicit Random(std::uint64_t number) : state_(seed() * 0x9E3779B97F4A7C15u + number) {}

  /// Any of `least` to `most`.
  std::int64_t between(std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(most - least + 1));
  }
  bool once_in(std::int64_t times) { return between(1, times) == 1; }
  template <class Values>
  const auto& one_of(const Values& values) {
    return values[static_cast<std::size_t>(
        between(0, static_cast<std::int64_t>(std::size(values)) - 1))];
  }

 private:
  std::uint64_t next() {
    std::uint64_t mixed = state_ += 0x9E3779B97F4A7C15u;  // splitmix64
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBu;
    return mixed ^ (mixed >> 31);
  }

  std::uint64_t state_;
};

}  // namespace halocline::test
