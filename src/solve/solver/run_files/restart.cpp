// SPDX-License-Identifier: Apache-2.0
#include "solver/run_files/restart.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <halocline/error.hpp>

#include "base/files/small_files.hpp"
#include "base/text/words.hpp"
#include "comm/collectives.hpp"
#include "files/bytes_of.hpp"
#include "grid/text.hpp"
#include "solver/options.hpp"
#include "text/refuse.hpp"

namespace halocline::solver {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view before_number = "sweep-", after_number = ".vtkhdf";

// ---- numbers of a run, in binary

template <class Number>
Number take(std::string_view& bytes) {
  Number number{};
  std::memcpy(&number, bytes.data(), sizeof number);
  bytes.remove_prefix(sizeof number);
  return number;
}

std::string bytes_of(const std::vector<std::pair<std::int64_t, double>>& norms) {
  std::string bytes;
  for (const auto& [sweep, norm] : norms) {
    bytes += files::bytes_of(sweep);
    bytes += files::bytes_of(norm);
  }
  return bytes;
}

std::vector<std::pair<std::int64_t, double>> norms_of(std::string_view bytes,
                                                      const std::string& path) {
  constexpr std::size_t each = sizeof(std::int64_t) + sizeof(double);
  if (bytes.size() % each != 0) refuse_damaged(path, "its norms");
  std::vector<std::pair<std::int64_t, double>> norms;
  while (!bytes.empty()) {
    const auto sweep = take<std::int64_t>(bytes);
    norms.emplace_back(sweep, take<double>(bytes));
  }
  return norms;
}

std::string bytes_of(const std::vector<SolveResult::Series::Row>& rows) {
  std::string bytes;
  for (const auto& [sweeps, values] : rows) {
    bytes += files::bytes_of(sweeps);
    bytes += files::bytes_of(std::ssize(values));
    for (const double value : values) bytes += files::bytes_of(value);
  }
  return bytes;
}

std::vector<SolveResult::Series::Row> rows_of(std::string_view bytes, const std::string& path) {
  std::vector<SolveResult::Series::Row> rows;
  while (!bytes.empty()) {
    if (bytes.size() < 2 * sizeof(std::int64_t)) refuse_damaged(path, "its series");
    SolveResult::Series::Row row{.sweeps = take<std::int64_t>(bytes), .values = {}};
    const auto count = take<std::ptrdiff_t>(bytes);
    if (count < 0 || static_cast<std::size_t>(count) > bytes.size() / sizeof(double))
      refuse_damaged(path, "its series");
    for (std::ptrdiff_t i = 0; i < count; ++i) row.values.push_back(take<double>(bytes));
    rows.push_back(std::move(row));
  }
  return rows;
}

// ---- the run in the head of a checkpoint

template <class Value>
std::optional<Value> value_in(const Json& run, const char* key) {
  const Json& value = run.at(key);
  return value.is_null() ? std::nullopt : std::optional(value.get<Value>());
}

/// Returns the start values of a run that are not formulas of its problem.
std::vector<std::string> other_starts(const SolveOptions& options, const Case& the_case) {
  std::vector<std::string> starts;
  for (const std::optional<std::string>& path : the_case.initial)
    if (path) starts.push_back(fmt::format("'{}'", *path));
  for (const problem::ModelCoefficient& coefficient : the_case.model->coefficients)
    if (coefficient.values.file) starts.push_back(fmt::format("'{}'", *coefficient.values.file));
  for (const SolveOptions::Array& array : options.arrays)
    if (array.use != SolveOptions::Array::Use::result)
      starts.push_back(fmt::format("the program's array '{}'", array.name));
  if (the_case.restart)
    for (const Json& start : the_case.restart->head.run.at("other_starts"))
      starts.push_back(start.get<std::string>());
  return starts;
}

// ---- options

/// Takes the options of the checkpoint; throws usage for those that must not differ.
void take_options(SolveOptions& options, const Restart& restart) {
  for (const Option& option : solver::options()) {
    const bool is_given = option.is_given(options);
    if (option.restart == Option::Restart::refuse && is_given)
      refuse("option '{}' cannot be used in a run that continues from '{}'; leave it out",
             option.name, restart.path);
    if (option.value.take == nullptr) continue;
    const Json& saved = restart.head.run.at(std::string(option.name));
    if (option.restart == Option::Restart::same && is_given && option.value.json(options) != saved)
      refuse(
          "option '{}' cannot differ from that of the checkpoint '{}'; leave it out "
          "(option 'sweeps' makes a run longer)",
          option.name, restart.path);
    if (!is_given) option.value.take(options, saved);
  }
}

void check_problem(const SolveOptions& options, const Restart& restart) {
  if (options.problem.name().empty() && options.problem.text().empty()) return;
  const problem::ProblemText asked = problem::find_problem(options.problem);
  if (asked.text != restart.problem.text)
    refuse("the problem '{}' is not that of the checkpoint '{}', '{}'; leave it out", asked.name,
           restart.path, restart.problem.name);
}

void take_cells(SolveOptions& options, const Restart& restart) {
  const Extents& saved = restart.head.cells;
  if (options.cells.axes() > 0 && !(options.cells == saved))
    refuse("the checkpoint '{}' has {}, not {}; leave option 'cells' out", restart.path,
           grid::cells_text(saved), grid::text_of(options.cells));
  options.cells = saved;
}

/// Arrays of the program get the result; the values come from the file.
void take_arrays(SolveOptions& options) {
  for (SolveOptions::Array& array : options.arrays)
    if (array.use == SolveOptions::Array::Use::both) array.use = SolveOptions::Array::Use::result;
}

/// Returns the number of sweeps in a file's name; nothing for other names.
std::optional<std::int64_t> number_in(const std::string& name) {
  if (!name.starts_with(before_number) || !name.ends_with(after_number)) return std::nullopt;
  const std::string digits =
      name.substr(before_number.size(), name.size() - before_number.size() - after_number.size());
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

std::string path_of_newest(const std::string& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) refuse("there is no checkpoint '{}'", path);
  if (!fs::is_directory(path, ignored)) return path;
  const std::vector<CheckpointFile> all = checkpoints_in(path);
  if (all.empty()) refuse("there is no checkpoint in '{}'", path);
  return all.front().path;
}

Restart restart_of(const std::string& path, const files::CheckpointHead& head,
                   const std::string& text, std::string_view norms, std::string_view rows) {
  try {
    const Json& run = head.run;
    Restart restart{.path = path,
                    .head = head,
                    .problem = {run.at("problem").get<std::string>(), text},
                    .state = {},
                    .rows = rows_of(rows, path)};
    restart.state.sweep = run.at("sweeps_done").get<std::int64_t>();
    restart.state.norms = norms_of(norms, path);
    if (restart.state.sweep < 0) refuse_damaged(path, "its number of sweeps");
    for (const char* name : {"precision", "norm"})
      if (!run.at(name).is_string()) refuse_damaged(path, fmt::format("its {}", name));
    if (run.at("sweeps").get<std::int64_t>() < 0) refuse_damaged(path, "its number of sweeps");
    if (run.at("norm_every").get<std::int64_t>() < 1 || !(run.at("least_norm").get<double>() >= 0))
      refuse_damaged(path, "its norms");
    return restart;
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {  // of the JSON library
    refuse_damaged(path, fmt::format("its head ({})", error.what()));
  }
}

SolveOptions continued_by(const SolveOptions& asked, const Restart& restart) {
  const Json& run = restart.head.run;
  const std::string& path = restart.path;
  SolveOptions options = asked;
  check_problem(asked, restart);
  options.problem = Problem::from_text(restart.problem.text, restart.problem.name);
  take_cells(options, restart);
  take_options(options, restart);
  const auto starts = run.at("other_starts").get<std::vector<std::string>>();
  if (options.verify == SolveOptions::Extra::yes && !starts.empty())
    refuse(
        "option 'verify' would start from the problem's own values, but the run of "
        "'{}' began with {}; leave it out",
        path, fmt::join(starts, ", "));
  if (restart.is_over()) options.sweeps = restart.state.sweep;
  if (*options.sweeps < restart.state.sweep)
    refuse("the checkpoint '{}' is of {} sweeps; option 'sweeps' cannot be {}", path,
           restart.state.sweep, *options.sweeps);
  if (!options.checkpoint) options.checkpoint = folder_of(path);
  take_arrays(options);
  return options;
}

}  // namespace

bool Restart::has(const std::string& field) const {
  return std::any_of(head.fields.begin(), head.fields.end(),
                     [&](const files::CheckpointPart& part) { return part.name == field; });
}

/// The last sweep of a run always has a norm, which a longer run might not have there.
bool Restart::is_over() const {
  if (state.norms.empty() || state.norms.back().first != state.sweep - 1) return false;
  if ((state.sweep - 1) % head.run.at("norm_every").get<std::int64_t>() != 0) return false;
  const double norm = state.norms.back().second;
  const auto tolerance = value_in<double>(head.run, "tolerance");
  return !std::isfinite(norm) ||
         (tolerance && norm <= *tolerance && norm >= head.run.at("least_norm").get<double>());
}

Json json_of(const RunToSave& run) {
  SolveOptions options = run.options;
  options.precision = run.the_case.precision();
  options.norm = run.the_case.norm;
  options.norm_every = run.the_case.norm_every;
  options.tolerance = run.the_case.tolerance;
  options.sweeps = run.the_case.sweeps;
  options.series_every = run.the_case.series_every;
  Json json{{"problem", run.problem.name},
            {"sweeps_done", run.sweeps},
            {"time", run.the_case.time_of(run.sweeps)},
            {"other_starts", other_starts(run.options, run.the_case)},
            {"least_norm", run.the_case.least_norm}};
  for (const Option& option : solver::options())
    if (option.value.take != nullptr) json[std::string(option.name)] = option.value.json(options);
  return json;
}

std::vector<files::CheckpointText> texts_of(const RunToSave& run) {
  return {{"problem", run.problem.text},
          {"norms", bytes_of(run.norms)},
          {"series", bytes_of(run.rows)}};
}

Restart find_restart(const std::string& path) {
  const std::string file = path_of_newest(path);
  try {
    files::CheckpointHead head = files::read_checkpoint_head(file);
    if (!head.run.contains("problem"))
      refuse("'{}' is the checkpoint of another program than `halocline solve`", file);
    const auto text = [&](const char* name) {
      return files::read_checkpoint_text(file, head, name);
    };
    Restart restart = restart_of(file, head, text("problem"), text("norms"), text("series"));
    // The newest one is found by its name.
    if (number_in(fs::path(file).filename()).value_or(restart.state.sweep) != restart.state.sweep)
      refuse("'{}' is the checkpoint of {}, under another's name; rename it to '{}'", file,
             counted(restart.state.sweep, "sweep"),
             checkpoint_path(folder_of(file), restart.state.sweep));
    return restart;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::usage) throw;
    refuse_damaged(file, error.what());
  }
}

std::shared_ptr<const Restart> find_restart(const Communicator& communicator,
                                            const std::string& path) {
  std::optional<Restart> found;
  comm::on_first_rank(communicator, [&] { found = find_restart(path); });
  const auto shared = [&](const auto& text) {
    return comm::broadcast(communicator, found ? text() : std::string(), 0);
  };
  const std::string file = shared([&] { return found->path; });
  const std::string head = shared([&] { return files::text_of(found->head); });
  const std::string problem = shared([&] { return found->problem.text; });
  const std::string norms = shared([&] { return bytes_of(found->state.norms); });
  const std::string rows = shared([&] { return bytes_of(found->rows); });
  return std::make_shared<const Restart>(
      restart_of(file, files::head_of(head, file), problem, norms, rows));
}

SolveOptions continued(const SolveOptions& asked, const Restart& restart) {
  try {
    return continued_by(asked, restart);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {  // of the JSON library
    refuse_damaged(restart.path, fmt::format("its head ({})", error.what()));
  }
}

RunState start_of(const Restart& restart, const Case& the_case) {
  RunState state = restart.state;
  std::erase_if(state.norms, [&](const auto& norm) {
    return norm.first % the_case.norm_every != 0 && norm.first != the_case.sweeps - 1;
  });
  return state;
}

void refuse_damaged(const std::string& path, const std::string& why) {
  const std::string text =
      why.starts_with("'") ? why : fmt::format("'{}' is damaged: {}", path, why);
  const std::optional<std::int64_t> number = number_in(fs::path(path).filename());
  for (const CheckpointFile& other : checkpoints_in(folder_of(path))) {
    std::error_code ignored;
    if (number && other.sweeps >= *number) continue;
    // A dangling link is no checkpoint.
    if (!fs::exists(other.path, ignored) || fs::equivalent(other.path, path, ignored)) continue;
    refuse("{}; the one before is '{}', which option 'restart' may name", text, other.path);
  }
  refuse(text);
}

std::vector<CheckpointFile> checkpoints_in(const std::string& folder) {
  std::vector<CheckpointFile> all;
  for (const fs::path& path : entries_of(folder))
    if (const auto number = number_in(path.filename())) all.push_back({*number, path.string()});
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return a.sweeps > b.sweeps; });
  return all;
}

std::string checkpoint_path(const std::string& folder, std::int64_t sweeps) {
  return (fs::path(folder) / fmt::format("{}{:012}{}", before_number, sweeps, after_number))
      .string();
}

}  // namespace halocline::solver
