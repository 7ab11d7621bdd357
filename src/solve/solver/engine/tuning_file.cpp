// SPDX-License-Identifier: Apache-2.0
#include "solver/engine/tuning_file.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/files/record_file.hpp"
#include "base/process/variables.hpp"
#include "base/text/words.hpp"
#include "build_info.hpp"
#include "comm/collectives.hpp"
#include "grid/text.hpp"
#include "machine/cores.hpp"
#include "problem/written.hpp"
#include "proof/surroundings.hpp"
#include "solver/option_words.hpp"

namespace halocline::solver {
namespace {

constexpr RecordFormat format{.format = "halocline tuning", .version = 1, .list = "ways"};
// The most records of a file, which drops the oldest.
constexpr std::size_t most_kept = 1024;

Json to_json(const TunedExecution& execution) {
  std::vector<std::int64_t> grid;
  for (int axis = 0; axis < execution.process_grid.axes(); ++axis)
    grid.push_back(execution.process_grid[axis]);
  return {{"process_grid", grid},
          {"transport", execution.transport},
          {"schedule", execution.schedule},
          {"in_graphs", execution.in_graphs},
          {"us_per_sweep", execution.seconds_per_sweep * 1e6},
          {"when", execution.when},
          {"key", execution.key.hash},
          {"ingredients", execution.key.ingredients}};
}

/// Throws for anything that to_json() does not write.
TunedExecution from_json(const Json& json) {
  TunedExecution execution;
  const auto grid = json.at("process_grid").get<std::vector<std::int64_t>>();
  if (grid.empty() || grid.size() > 3) throw std::invalid_argument("no process grid");
  Int3 parts{1, 1, 1};
  for (std::size_t axis = 0; axis < grid.size(); ++axis) parts[static_cast<int>(axis)] = grid[axis];
  execution.process_grid = Extents(parts, static_cast<int>(grid.size()));
  execution.transport = json.at("transport").get<std::string>();
  execution.schedule = json.at("schedule").get<std::string>();
  execution.in_graphs = json.at("in_graphs").get<bool>();
  execution.seconds_per_sweep = json.at("us_per_sweep").get<double>() / 1e6;
  execution.when = json.at("when").get<std::string>();
  execution.key.hash = json.at("key").get<std::string>();
  execution.key.ingredients = json.at("ingredients").get<std::vector<std::string>>();
  return execution;
}

/// The options that are not open for choice.
std::vector<std::string> given(const SolveOptions& options) {
  std::vector<std::string> lines;
  const auto add = [&](const char* what, const std::string& value) {
    if (value != "auto") lines.push_back(fmt::format("given {}: {}", what, value));
  };
  add("transport", options.transport);
  add("schedule", options.schedule);
  add("graph", word_for(options.graph));
  return lines;
}

}  // namespace

proof::EnvironmentKey tuning_key(const Communicator& communicator, const Case& the_case,
                                 const SolveOptions& options, const Target& target, int threads) {
  std::vector<std::string> lines = given(options);
  lines.push_back(
      fmt::format("Halocline {}, commit {}", build_info::version, build_info::commit()));
  lines.push_back(fmt::format("{} of {} cells in {}", the_case.model->name,
                              grid::text_of(the_case.grid.cells), name_of(the_case.precision())));
  for (const std::string& line : problem::written_out(*the_case.model))
    lines.push_back(fmt::format("formula {}", line));
  lines.push_back(fmt::format("norm {} every {}", name_of(the_case.norm),
                              the_case.norm == Norm::none ? 0 : the_case.norm_every));
  lines.push_back(fmt::format("halo depth {}", the_case.halo_depth));
  if (the_case.sweeps_per_pass > 1)
    lines.push_back(fmt::format("sweeps of a pass {}", the_case.sweeps_per_pass));
  if (the_case.brick.axes() > 0)
    lines.push_back(fmt::format("bricks of {}", grid::text_of(the_case.brick)));
  if (the_case.grid.process_grid.axes() > 0)
    lines.push_back(
        fmt::format("given process grid: {}", grid::text_of(the_case.grid.process_grid)));
  lines.push_back(fmt::format("{} on {}, {} each", counted(communicator.size(), "rank"),
                              counted(communicator.node_count(), "node"),
                              counted(threads, "thread")));
  lines.push_back(
      fmt::format("backend {}, {} memory", target.backend->name(), name_of(target.memory)));
  if (target.gpu)
    for (const machine::GpuBinding::Row& row : target.gpu->map)
      lines.push_back(
          fmt::format("rank {} on {}, {}", row.rank, row.name, counted(row.ranks_on_gpu, "rank")));
  lines.push_back(fmt::format("{}, {}", machine::processor_name(),
                              counted(machine::node_cores(communicator), "core")));
  const Variables variables = current_variables();
  const std::vector<std::string> environment =
      proof::environment_key(proof::this_environment(variables)).ingredients;
  lines.insert(lines.end(), environment.begin(), environment.end());
  // The key of rank 0 counts for all: files and variables may differ a little between nodes.
  proof::EnvironmentKey key = proof::key_of(std::move(lines));
  key.hash = comm::broadcast(communicator, key.hash, 0);
  return key;
}

std::optional<TunedExecution> find_tuned(const Communicator& communicator, const std::string& path,
                                         const std::string& key_hash, Notes& notes) {
  std::string text, note;
  comm::on_first_rank(communicator, [&] {
    RecordFile file = read_records(path, format);
    for (const TunedExecution& execution : understood(file, format, from_json))
      if (execution.key.hash == key_hash) text = write_json(to_json(execution));
    if (!file.wrong.empty())
      note = fmt::format("tuning file '{}': {}; remove it, or name another", path, file.wrong);
  });
  note = comm::broadcast(communicator, note, 0);
  if (!note.empty()) notes.add(note);
  text = comm::broadcast(communicator, text, 0);
  if (text.empty()) return std::nullopt;
  return from_json(Json::parse(text));
}

void keep_tuned(const Communicator& communicator, const std::string& path,
                const TunedExecution& execution, Notes& notes) {
  std::string note;
  comm::on_first_rank(communicator, [&] {
    try {
      change_records(path, format, OtherFile::keep, [&](RecordFile there) {
        std::vector<Json> records{to_json(execution)};
        for (const TunedExecution& other : understood(there, format, from_json))
          if (other.key.hash != execution.key.hash && records.size() < most_kept)
            records.push_back(to_json(other));
        return records;
      });
    } catch (const std::exception& error) {  // Error, or one of the file system
      note = fmt::format("the measured choice was not stored: {}", error.what());
    }
  });
  note = comm::broadcast(communicator, note, 0);
  if (!note.empty()) notes.add(note);
}

}  // namespace halocline::solver
