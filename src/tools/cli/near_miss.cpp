// SPDX-License-Identifier: Apache-2.0
#include "cli/near_miss.hpp"

#include <algorithm>

namespace halocline::cli {
namespace {

/// Letters to insert, remove, replace, or swap with the next: the distance of optimal string
/// alignment.
std::size_t distance(std::string_view a, std::string_view b) {
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

}  // namespace

std::string near_miss(std::string_view word, const std::vector<std::string>& names) {
  const std::size_t letters = word.size() - std::min(word.find_first_not_of('-'), word.size());
  std::string nearest;
  std::size_t least = std::min<std::size_t>(3, letters / 3 + 1);
  for (const std::string& name : names)
    if (const std::size_t here = distance(word, name); here < least) {
      least = here;
      nearest = name;
    }
  if (!nearest.empty() || letters < 2) return nearest;
  const auto begins = [&](const std::string& name) { return name.starts_with(word); };
  if (std::count_if(names.begin(), names.end(), begins) == 1)
    return *std::find_if(names.begin(), names.end(), begins);
  return "";
}

}  // namespace halocline::cli
