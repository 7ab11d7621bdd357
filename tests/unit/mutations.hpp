// SPDX-License-Identifier: Apache-2.0
#pragma once
// Small changes to a text, the same for the same seed on every machine.

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace halocline::test {

class Mutations {
 public:
  /// `texts` are where lines and words come from.
  Mutations(std::uint64_t seed, std::vector<std::string> texts);

  /// Returns one of the texts with some changes.
  std::string next();

 private:
  std::size_t below(std::size_t count) { return count == 0 ? 0 : generator_() % count; }
  std::string_view one_of(const std::vector<std::string_view>& words) {
    return words[below(words.size())];
  }
  void change(std::string& text);
  void change_bytes(std::string& text, int how);
  void change_lines(std::string& text, int how);
  void change_words(std::string& text, int how);

  std::mt19937_64 generator_;
  std::vector<std::string> texts_;
  std::vector<std::string_view> words_;
};

}  // namespace halocline::test
