// SPDX-License-Identifier: Apache-2.0
#include "ranks/command_runs.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <sstream>

#include <halocline/error.hpp>
#include <halocline/solver.hpp>

#include "cli/command_line.hpp"
#include "cli/exit_code.hpp"
#include "cli/solve_command.hpp"
#include "plan/prospects.hpp"
#include "report/render.hpp"
#include "solver/solve_report.hpp"

namespace halocline::test {
namespace {

std::vector<std::string> split(const std::string& words) {
  std::istringstream stream(words);
  return {std::istream_iterator<std::string>(stream), {}};
}

Json json_of_report(const Report& report) { return Json::parse(render_json(report)); }

Outcome outcome_of_plan(const cli::PlanCommand& command) {
  return {.report =
              json_of_report(plan::report_of(plan::make_plan(command.options, command.ranks)))};
}

Outcome outcome_of_solve(const cli::SolveCommand& command, const Communicator* communicator) {
  const SolveOptions& options = command.options;
  check(options, communicator != nullptr ? communicator->size() : command.ranks.value_or(1));
  if (communicator == nullptr) return {};
  const SolveResult result = solve(*communicator, options);
  const std::string wrong = cli::what_is_wrong(result).value_or("");
  const bool profile = command.profile == cli::SolveCommand::Flag::yes;
  return {.code = wrong.empty() ? cli::exit_ok : cli::exit_wrong_result,
          .said = wrong,
          .report = json_of_report(solver::report_of(
              result, profile ? solver::ProfileTable::yes : solver::ProfileTable::no))};
}

Outcome outcome(const std::string& words, const Communicator* communicator) {
  try {
    const cli::CommandLine line = cli::read_command_line(split(words));
    if (line.plan) return outcome_of_plan(*line.plan);
    return outcome_of_solve(line.solve.value(), communicator);
  } catch (const Error& error) {
    return {.code = cli::exit_code(error.kind()), .said = error.what(), .report = {}};
  }
}

bool is_close(const Json& known, const Json& now, double smallest) {
  if (!known.is_number() || !now.is_number()) return known == now;
  const double a = known.get<double>(), b = now.get<double>();
  return std::abs(a - b) <= smallest + 1e-12 * std::max(std::abs(a), std::abs(b));
}

/// Lists of a sweep and its norm.
bool are_close_norms(const Json& known, const Json& now) {
  return known.size() == now.size() &&
         std::equal(known.begin(), known.end(), now.begin(), [](const Json& a, const Json& b) {
           return a.at(0) == b.at(0) && is_close(a.at(1), b.at(1), 0);
         });
}

/// By name, the checksum and the sum of each.
bool are_same_fields(const Json& known, const Json& now) {
  const auto& fields = known.items();
  return known.size() == now.size() &&
         std::all_of(fields.begin(), fields.end(), [&](const auto& field) {
           const Json here = now.value(field.key(), Json::object());
           return here.value("checksum", "") == field.value().at("checksum") &&
                  is_close(field.value().at("sum"), here.value("sum", Json()), 1e-9);
         });
}

/// Parts of sums may be added in another order: of L2 norms, and of a field on a GPU.
bool is_same(const std::string& name, const Json& known, const Json& now, const Json& report) {
  if (now.is_null()) return known.is_null();
  if (name == "fields") return are_same_fields(known, now);
  if ((name == "norms" || name == "norm_history") && report.value("norm", "") == "l2")
    return are_close_norms(known, now);
  if (name == "more_keys") return std::includes(now.begin(), now.end(), known.begin(), known.end());
  if (name == "sum" && report.value("backend", "") == "cuda") return is_close(known, now, 1e-9);
  return known == now;
}

void add_keys(const Json& value, const std::string& path, std::set<std::string>& keys) {
  if (value.is_object())
    for (const auto& [key, inner] : value.items()) {
      const std::string name = path.empty() ? key : path + "." + key;
      keys.insert(name);
      add_keys(inner, name, keys);
    }
  if (value.is_array())
    for (const Json& inner : value) add_keys(inner, path + "[]", keys);
}

}  // namespace

Outcome outcome_of(const std::string& words, const Communicator& communicator) {
  return outcome(words, &communicator);
}

Outcome outcome_before_ranks(const std::string& words) { return outcome(words, nullptr); }

int ranks_of(const std::string& words) {
  const std::vector<std::string> all = split(words);
  const auto found = std::find(all.begin(), all.end(), "--ranks");
  return all.end() - found > 1 ? std::atoi(found[1].c_str()) : 1;
}

std::vector<std::string> differences(const Json& known, const Json& now) {
  std::vector<std::string> found;
  for (const auto& [name, value] : known.items()) {
    const Json here = now.value(name, Json());
    if (!is_same(name, value, here, now))
      found.push_back(name + ": " + here.dump() + ", not " + value.dump());
  }
  return found;
}

std::vector<std::string> keys_in(const Json& report) {
  std::set<std::string> keys;
  add_keys(report, "", keys);
  return {keys.begin(), keys.end()};
}

}  // namespace halocline::test
