// SPDX-License-Identifier: Apache-2.0
#include "problem/catalogue.hpp"

#include <array>
#include <tuple>

#include "base/find_named.hpp"

namespace halocline::problem {
namespace {

template <class... Problems>
std::span<const Problem* const> one_of_each(List<Problems...>) {
  static const std::array<const Problem*, sizeof...(Problems)> all = [] {
    static const std::tuple<Problems...> instances;
    return std::array<const Problem*, sizeof...(Problems)>{&std::get<Problems>(instances)...};
  }();
  return all;
}

}  // namespace

std::span<const Problem* const> problems() { return one_of_each(Catalogue{}); }

const Problem& find_problem(std::string_view name) {
  return find_named("problem", name, problems(),
                    [](const Problem& problem) { return problem.info().name; });
}

}  // namespace halocline::problem
