// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which of many cases of one rule run. Emulated GPUs take a hundred times longer than real ones:
// there `make test` runs every second case, and with other sources the others (scripts/test).

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/process/environment.hpp"

namespace halocline::test {

/// Whether case `number` of a list runs: all do unless HALOCLINE_TEST_TURN is set. Of cases 0 and
/// 1, which often differ in precision alone, one runs, of the next two the other.
inline bool has_turn(std::size_t number) {
  static const std::optional<std::string> turn = environment("HALOCLINE_TEST_TURN");
  return !turn || (number + number / 2 + std::stoull(*turn)) % 2 == 0;
}

/// The cases of a list that run.
template <class Case>
std::vector<Case> those_with_turn(const std::vector<Case>& all) {
  std::vector<Case> chosen;
  for (std::size_t number = 0; number < all.size(); ++number)
    if (has_turn(number)) chosen.push_back(all[number]);
  return chosen;
}

}  // namespace halocline::test
