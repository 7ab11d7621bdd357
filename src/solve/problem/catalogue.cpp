// SPDX-License-Identifier: Apache-2.0
#include "problem/catalogue.hpp"

#include <utility>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "problem/formula.hpp"

namespace halocline::problem {

bool is_path(std::string_view problem) {
  return problem.find('/') != problem.npos || problem.ends_with(".toml");
}

ProblemText find_problem(const Problem& problem) {
  const std::string& name = problem.name();
  if (!problem.text().empty()) return {name, problem.text() + problem.updates()};
  if (is_path(name)) return {name, text_of_file(name) + problem.updates()};
  std::string names;
  for (const BuiltIn& one : built_in_problems()) {
    if (one.name == name) return {name, std::string(one.text) + problem.updates()};
    names += fmt::format("{}{}", names.empty() ? "" : ", ", one.name);
  }
  throw Error(ErrorKind::usage,
              fmt::format("there is no problem '{0}'; there are: {1}; a file is named as "
                          "'./{0}' or '{0}.toml'",
                          name, names));
}

}  // namespace halocline::problem

namespace halocline {

Problem Problem::from_file(const std::string& path) {
  return problem::is_path(path) ? path : "./" + path;
}

Problem Problem::from_text(std::string text, std::string name) {
  Problem problem(std::move(name));
  // An empty text is none, and a mistake that is told as such.
  problem.text_ = text.empty() ? "\n" : std::move(text);
  return problem;
}

Problem& Problem::update(const std::string& field, const Formula& formula) {
  updates_.emplace_back(field, formula);
  updates_text_ = problem::text_of(updates_);
  return *this;
}

}  // namespace halocline
