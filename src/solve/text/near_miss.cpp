// SPDX-License-Identifier: Apache-2.0
#include "text/near_miss.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include <fmt/format.h>

namespace halocline {
namespace {

// A longer word is not misspelt, and to compare it takes time.
constexpr std::size_t most_compared = 100;

/// Letters to insert, remove, replace, or swap with the next: the distance of optimal string
/// alignment.
std::size_t letters_between(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before, row(b.size() + 1), next(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      next[j] =
          std::min({row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        next[j] = std::min(next[j], before[j - 2] + 1);
    }
    before = row;
    row = next;
  }
  return row[b.size()];
}

// ASCII only, whatever the locale is.
std::string in_small_letters(std::string_view word) {
  std::string small(word);
  for (char& c : small)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return small;
}

std::string digits_of(std::string_view word) {
  std::string digits;
  std::copy_if(word.begin(), word.end(), std::back_inserter(digits),
               [](char c) { return c >= '0' && c <= '9'; });
  return digits;
}

std::size_t letters_in(std::string_view word) {
  return word.size() - std::min(word.find_first_not_of('-'), word.size());
}

/// How far a name may be from a word; by how much shorter ones are others.
std::size_t farthest(std::string_view word, std::string_view name) {
  const std::size_t letters = std::max(letters_in(word), letters_in(name));
  if (letters <= 2 || digits_of(word) != digits_of(name)) return 0;
  return letters < 5 ? 1 : 2;
}

}  // namespace

std::string near_miss(std::string_view word, const std::vector<std::string>& names) {
  if (word.empty() || word.size() > most_compared) return "";
  const std::string small = in_small_letters(word);
  const std::string* nearest = nullptr;
  std::size_t least = 3;
  bool is_tie = false;
  for (const std::string& name : names) {
    if (name.size() > most_compared) continue;
    const std::size_t far = letters_between(small, in_small_letters(name));
    if (far > farthest(word, name) || far > least) continue;
    is_tie = far == least && (is_tie || *nearest != name);
    least = far;
    nearest = &name;
  }
  if (nearest != nullptr) return is_tie ? "" : *nearest;
  if (letters_in(word) < 3) return "";
  const auto begins = [&](const std::string& name) { return name.starts_with(word); };
  if (std::count_if(names.begin(), names.end(), begins) == 1)
    return *std::find_if(names.begin(), names.end(), begins);
  return "";
}

std::string do_you_mean(std::string_view word, const std::vector<std::string>& names) {
  const std::string near = near_miss(word, names);
  return near.empty() ? "" : fmt::format("; do you mean '{}'?", near);
}

}  // namespace halocline
