// SPDX-License-Identifier: Apache-2.0
#include "problem/catalogue.hpp"

#include <array>
#include <string>
#include <tuple>

#include <fmt/format.h>

#include <halocline/error.hpp>

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
  std::string names;
  for (const Problem* problem : problems()) {
    if (problem->info().name == name) return *problem;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", problem->info().name);
  }
  throw Error(ErrorKind::usage,
              fmt::format("there is no problem '{}'; there are: {}", name, names));
}

}  // namespace halocline::problem
