// SPDX-License-Identifier: Apache-2.0
#include "solver/option_words.hpp"

#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <halocline/error.hpp>

#include "base/refuse.hpp"
#include "grid/text.hpp"

namespace halocline::solver {
namespace {

std::string size_text(const Extents& size) {
  return size.axes() == 0 ? "auto" : grid::text_of(size);
}

}  // namespace

std::optional<Memory> read_memory(std::string_view word) {
  if (word == "auto") return std::nullopt;
  if (const std::optional<Memory> memory = memory_named(word)) return memory;
  refuse(
      fmt::format("there is no memory '{}'; there are: auto, device, pinned, managed, "
                  "system, host",
                  word));
}

Precision read_precision(std::string_view word) {
  if (const std::optional<Precision> precision = precision_named(word)) return *precision;
  refuse(fmt::format("there is no precision '{}'; there are: f32, f64", word));
}

Norm read_norm(std::string_view word) {
  if (const std::optional<Norm> norm = norm_named(word)) return *norm;
  refuse(fmt::format("there is no norm '{}'; there are: max, l2, none", word));
}

SolveOptions::Graphs read_graphs(std::string_view word) {
  using Use = SolveOptions::Graphs;
  for (const Use graphs : {Use::automatic, Use::on, Use::off})
    if (word_for(graphs) == word) return graphs;
  refuse(fmt::format("option 'graph' cannot be '{}'; use auto, on or off", word));
}

SolveOptions::Writing read_writing(std::string_view word) {
  using Writing = SolveOptions::Writing;
  for (const Writing writing : {Writing::automatic, Writing::beside, Writing::between})
    if (word_for(writing) == word) return writing;
  refuse(fmt::format("option 'writing' cannot be '{}'; use auto, beside or between", word));
}

std::vector<std::string> shared_options(const SolveOptions& options) {
  const auto or_auto = [](const auto& value) {
    return value ? fmt::format("{}", *value) : std::string("auto");
  };
  std::vector<std::string> lines{
      fmt::format("problem {}", options.problem.name()),
      fmt::format("cells {}", size_text(options.cells)),
      fmt::format("cells per rank {}", size_text(options.cells_per_rank)),
      fmt::format("sweeps {}", or_auto(options.sweeps)),
      fmt::format("tolerance {}", or_auto(options.tolerance)),
      fmt::format("norm {}", options.norm ? name_of(*options.norm) : "auto"),
      fmt::format("norm every {} sweeps", options.norm_every),
      fmt::format("precision {}", options.precision ? name_of(*options.precision) : "auto"),
      fmt::format("seed {}", or_auto(options.seed)),
      fmt::format("initial array {}", options.initial.value_or("none")),
      fmt::format("process grid {}", size_text(options.process_grid)),
      fmt::format("backend {}", options.backend),
      fmt::format("memory {}", word_for(options.memory)),
      fmt::format("layout {}", options.layout),
      fmt::format("transport {}", options.transport),
      fmt::format("schedule {}", options.schedule),
      fmt::format("graph {}", word_for(options.graph)),
      fmt::format("halo depth {}", options.halo_depth),
      fmt::format("tuning seconds {}", or_auto(options.tuning_seconds)),
      fmt::format("tuning file {}", options.tuning_file ? "given" : "none"),
      fmt::format("verify {}", options.verify == SolveOptions::Extra::yes),
      fmt::format("verify every {} sweeps", or_auto(options.verify_every)),
      fmt::format("baseline {}", options.baseline == SolveOptions::Extra::yes),
      fmt::format("output {}", options.output.value_or("none")),
      fmt::format("trace {}", options.trace ? "given" : "none"),
      fmt::format("checkpoint {}", options.checkpoint.value_or("none")),
      fmt::format("checkpoint every {} sweeps, {} seconds", or_auto(options.checkpoint_every),
                  or_auto(options.checkpoint_seconds)),
      fmt::format("writing {}", word_for(options.writing)),
      fmt::format("restart {}", options.restart.value_or("none")),
      fmt::format("stop requests {}", options.stop_request ? "looked for" : "none")};
  for (const auto& [field, path] : options.field_initials)
    lines.push_back(fmt::format("initial array of {} {}", field, path));
  for (const auto& [field, path] : options.field_outputs)
    lines.push_back(fmt::format("output of {} {}", field, path));
  lines.push_back(fmt::format("output every {} sweeps", or_auto(options.output_every)));
  for (const auto& [field, min, max] : options.ranges)
    lines.push_back(fmt::format("range of {} {} {}", field, min, max));
  lines.push_back(fmt::format("sums {}", fmt::join(options.sums, ",")));
  for (const auto& [field, cell] : options.probes)
    lines.push_back(fmt::format("probe of {} {}", field, fmt::join(cell, ",")));
  lines.push_back(fmt::format("series {} every {} sweeps", options.series ? "given" : "none",
                              or_auto(options.series_every)));
  for (const SolveOptions::Array& array : options.arrays)
    lines.push_back(fmt::format("array of {} for {}", array.name, word_for(array.use)));
  for (const auto& [name, value] : options.parameters)
    lines.push_back(fmt::format("parameter {} {}", name, value));
  std::istringstream text(options.problem.text() + options.problem.updates());
  for (std::string line; std::getline(text, line);)
    lines.push_back(fmt::format("problem's text {}", line));
  return lines;
}

std::string word_for(const std::optional<Memory>& memory) {
  return memory ? std::string(name_of(*memory)) : "auto";
}

std::string word_for(SolveOptions::Graphs graphs) {
  using Use = SolveOptions::Graphs;
  return graphs == Use::automatic ? "auto" : graphs == Use::on ? "on" : "off";
}

std::string word_for(SolveOptions::Writing writing) {
  using Writing = SolveOptions::Writing;
  return writing == Writing::automatic ? "auto" : writing == Writing::beside ? "beside" : "between";
}

std::string word_for(SolveOptions::Array::Use use) {
  using Use = SolveOptions::Array::Use;
  return use == Use::start ? "start" : use == Use::result ? "result" : "both";
}

}  // namespace halocline::solver
