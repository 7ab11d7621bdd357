// SPDX-License-Identifier: Apache-2.0
#include "problem/catalogue.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <halocline/error.hpp>

#include "problem/formula.hpp"
#include "text/near_miss.hpp"
#include "text/refuse.hpp"

namespace halocline::problem {
namespace {

// Limits the time of the search in a large folder.
constexpr int most_entries = 10'000;

/// Returns the path of a problem file in the folder of a path that is none: "cond.toml" for cond
/// and cond.tml; empty if there is none.
std::string near_file(const std::string& path) {
  const std::filesystem::path wanted(path), folder = wanted.parent_path();
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder.empty() ? "." : folder, error), end;
  for (int i = 0; !error && entry != end && i < most_entries; ++i) {
    if (entry->path().extension() == ".toml") names.push_back(entry->path().filename());
    entry.increment(error);
  }
  const std::string name = wanted.filename(), with_ending = name + ".toml";
  const bool is_there = std::find(names.begin(), names.end(), with_ending) != names.end();
  const std::string near = is_there ? with_ending : near_miss(name, names);
  return near.empty() ? "" : std::string(folder / near);
}

/// The text of a path that may be misspelt.
std::string text_at(const std::string& path) {
  try {
    return text_of_file(path);
  } catch (const Error& error) {
    const std::string near = near_file(path);
    std::error_code ignored;
    if (near.empty() || std::filesystem::exists(path, ignored)) throw;
    refuse("{}; do you mean '{}'?", error.what(), near);
  }
}

[[noreturn]] void refuse_problem(const std::string& name) {
  std::vector<std::string> names;
  for (const BuiltIn& one : built_in_problems()) names.emplace_back(one.name);
  const auto error_of = [&](const std::string& what) {
    return Error(ErrorKind::usage, fmt::format("there is no problem '{}'; {}", name, what));
  };
  std::error_code error;
  if (std::filesystem::is_regular_file(name, error))
    throw error_of(fmt::format("the file of this name is './{}'", name));
  if (const std::string near = near_file(name); !near.empty())
    throw error_of(fmt::format("do you mean the file '{}'?", near));
  if (const std::string near = near_miss(name, names); !near.empty())
    throw error_of(fmt::format("do you mean '{}'?", near));
  throw error_of(fmt::format("there are: {1}; a file is named as './{0}' or '{0}.toml'", name,
                             fmt::join(names, ", ")));
}

}  // namespace

bool is_path(std::string_view problem) {
  return problem.find('/') != problem.npos || problem.ends_with(".toml");
}

ProblemText find_problem(const Problem& problem) {
  const std::string& name = problem.name();
  if (!problem.text().empty()) return {name, problem.text() + problem.updates()};
  if (is_path(name)) return {name, text_at(name) + problem.updates()};
  for (const BuiltIn& one : built_in_problems())
    if (one.name == name) return {name, std::string(one.text) + problem.updates()};
  refuse_problem(name);
}

}  // namespace halocline::problem

namespace halocline {

Problem Problem::from_file(const std::string& path) {
  return problem::is_path(path) ? path : "./" + path;
}

Problem Problem::from_text(std::string text, std::string name) {
  Problem problem(std::move(name));
  // An empty text means none; a line break makes it a mistake with its own error.
  problem.text_ = text.empty() ? "\n" : std::move(text);
  return problem;
}

Problem& Problem::update(const std::string& field, const Formula& formula) {
  updates_.emplace_back(field, formula);
  updates_text_ = problem::text_of(updates_);
  return *this;
}

}  // namespace halocline
