// SPDX-License-Identifier: Apache-2.0
#include "solver/options.hpp"

#include <optional>
#include <sstream>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <halocline/error.hpp>

#include "base/text/numbers.hpp"
#include "grid/text.hpp"
#include "solver/option_words.hpp"
#include "stencil/sweep.hpp"
#include "text/near_miss.hpp"
#include "text/refuse.hpp"

namespace halocline::solver {
namespace {

using Assignments = std::vector<std::pair<std::string, double>>;
using Group = Option::Group;
using Ranks = Option::Ranks;
using AtRestart = Option::Restart;
using Times = Option::Times;

// ---- from words

template <class Number>
requires std::is_arithmetic_v<Number>
void read(const std::string& word, const std::string& what, Number& number) {
  if constexpr (std::is_integral_v<Number>)
    number = read_whole<Number>(word, what);
  else
    number = read_number(word, what);
}
void read(const std::string& word, const std::string&, std::string& text) { text = word; }
void read(const std::string& word, const std::string& what, Extents& size) {
  size = parse_extents(word, what);
}
void read(const std::string& word, const std::string&, Precision& precision) {
  precision = read_precision(word);
}
void read(const std::string& word, const std::string&, Norm& norm) { norm = read_norm(word); }
void read(const std::string& word, const std::string&, std::optional<Memory>& memory) {
  memory = read_memory(word);
}
void read(const std::string& word, const std::string&, SolveOptions::Graphs& graphs) {
  graphs = read_graphs(word);
}
void read(const std::string& word, const std::string&, SolveOptions::Writing& writing) {
  writing = read_writing(word);
}
void read(const std::string& word, const std::string& what, SolveOptions::Extra& extra) {
  if (word != "yes" && word != "no") refuse("{} '{}' is not yes or no", what, word);
  extra = word == "yes" ? SolveOptions::Extra::yes : SolveOptions::Extra::no;
}
void read(const std::string& word, const std::string&, std::vector<std::string>& all) {
  all.push_back(word);
}
void read(const std::string& word, const std::string& what, std::vector<SolveOptions::Probe>& all) {
  all.push_back(parse_probe(word, what));
}
void read(const std::string& word, const std::string& what, std::vector<SolveOptions::Range>& all) {
  all.push_back(parse_range(word, what));
}
void read(const std::string& word, const std::string& what, Assignments& all) {
  add_assignment(word, what, all);
}
template <class Value>
void read(const std::string& word, const std::string& what, std::optional<Value>& value) {
  read(word, what, value.emplace());
}

// ---- to JSON

template <class Value>
requires std::is_arithmetic_v<Value> || std::is_convertible_v<Value, std::string> Json
json_of(const Value& value) {
  return value;
}
Json json_of(const Extents& size) {
  return size.axes() == 0 ? Json(nullptr) : Json(grid::text_of(size));
}
Json json_of(Precision precision) { return name_of(precision); }
Json json_of(Norm norm) { return name_of(norm); }
Json json_of(Memory memory) { return name_of(memory); }
Json json_of(SolveOptions::Graphs graphs) { return word_for(graphs); }
Json json_of(SolveOptions::Writing writing) { return word_for(writing); }
Json json_of(SolveOptions::Extra extra) { return extra == SolveOptions::Extra::yes; }
Json json_of(const SolveOptions::Probe& probe) {
  return {{"field", probe.field}, {"cell", probe.cell}};
}
Json json_of(const SolveOptions::Range& range) { return {range.field, range.min, range.max}; }
template <class Value>
Json json_of(const std::pair<std::string, Value>& pair) {
  return Json::array({pair.first, pair.second});
}
template <class Value>
Json json_of(const std::vector<Value>& all) {
  Json list = Json::array();
  for (const Value& one : all) list.push_back(json_of(one));
  return list;
}
template <class Value>
Json json_of(const std::optional<Value>& value) {
  return value ? json_of(*value) : Json(nullptr);
}

// ---- from JSON

template <class Value>
void take(const Json& json, Value& value) {
  value = json.get<Value>();
}
void take(const Json& json, Precision& precision) {
  precision = read_precision(json.get<std::string>());
}
void take(const Json& json, Norm& norm) { norm = read_norm(json.get<std::string>()); }
void take(const Json& json, std::vector<SolveOptions::Probe>& all) {
  all.clear();
  for (const Json& one : json)
    all.push_back(
        {one.at("field").get<std::string>(), one.at("cell").get<std::vector<std::int64_t>>()});
}
void take(const Json& json, Assignments& all) {
  all.clear();
  for (const Json& one : json)
    all.emplace_back(one.at(0).get<std::string>(), one.at(1).get<double>());
}
template <class Value>
void take(const Json& json, std::optional<Value>& value) {
  value.reset();
  if (!json.is_null()) take(json, value.emplace());
}

// ---- members

template <auto member>
OptionValue of() {
  return {.read = [](SolveOptions& options, const std::string& word,
                     const std::string& what) { read(word, what, options.*member); },
          .json = [](const SolveOptions& options) { return json_of(options.*member); }};
}

/// The same for a member that checkpoints have.
template <auto member>
OptionValue saved() {
  OptionValue value = of<member>();
  value.take = [](SolveOptions& options, const Json& json) { take(json, options.*member); };
  return value;
}

void read_initial(SolveOptions& options, const std::string& word, const std::string& what) {
  const auto [field, path] = field_and_rest(word);
  if (!field.empty())
    options.field_initials.emplace_back(field, path);
  else if (options.initial)
    refuse("{} is given twice without a field, as '{}' and '{}'; write FIELD=FILE", what,
           *options.initial, path);
  else
    options.initial = path;
}

Json initials(const SolveOptions& options) {
  Json all = json_of(options.field_initials);
  if (options.initial) all.insert(all.begin(), *options.initial);
  return all;
}

Json outputs(const SolveOptions& options) {
  Json all = json_of(options.field_outputs);
  if (options.output) all.insert(all.begin(), *options.output);
  return all;
}

/// Sweeps, or a time with its unit.
void read_interval(SolveOptions& options, const std::string& word, const std::string& what) {
  const std::size_t number = word.find_last_of("0123456789.") + 1;
  const std::string suffix = word.substr(number);
  for (const auto& [known, seconds] :
       {std::pair("min", 60.0), std::pair("s", 1.0), std::pair("h", 3600.0)})
    if (suffix == known) {
      options.checkpoint_seconds = seconds * read_number(word.substr(0, number), what);
      return;
    }
  if (suffix.ends_with('s'))
    refuse(
        "{} '{}' is no time; write sweeps, such as 5000, or a time, such as 90s, "
        "30min or 2h",
        what, word);
  options.checkpoint_every = read_whole<std::int64_t>(word, what);
}

Json interval(const SolveOptions& options) {
  Json all = Json::array();
  if (options.checkpoint_every) all.push_back(*options.checkpoint_every);
  if (options.checkpoint_seconds) all.push_back(fmt::format("{}s", *options.checkpoint_seconds));
  return all;
}

void take_interval(SolveOptions& options, const Json& json) {
  for (const Json& one : json)
    read_interval(options, one.is_string() ? one.get<std::string>() : write_json(one),
                  "the interval of checkpoints");
}

void read_sweeps_per_pass(SolveOptions& options, const std::string& word, const std::string& what) {
  options.sweeps_per_pass = SolveOptions::automatic_sweeps_per_pass;
  if (word == "auto") return;
  if (word == "0" || word.find_first_of("0123456789") == std::string::npos)
    refuse("{} '{}' is no number of sweeps; use 1 or more, or auto", what, word);
  options.sweeps_per_pass = read_whole<std::int64_t>(word, what);
}

/// Rows of a series have values of sums and probes.
void take_series_interval(SolveOptions& options, const Json& json) {
  if (!options.sums.empty() || !options.probes.empty()) take(json, options.series_every);
}

using S = SolveOptions;

std::vector<Option> rows_of_what() {
  constexpr Group group = Group::what;
  return {{"cells", "--cells", "NXxNY[xNZ]", group,
           "unknowns along each axis, x first: 256x128\n[default: the problem's]", of<&S::cells>()},
          {"cells_per_rank", "--cells-per-rank", "NXxNY[xNZ]", group,
           "cells of each rank, instead of --cells", of<&S::cells_per_rank>(), Ranks::alike,
           AtRestart::refuse},
          {"sweeps", "--sweeps", "N", group, "do at most N sweeps [default: the problem's]",
           saved<&S::sweeps>(), Ranks::alike, AtRestart::inherit},
          {"tolerance", "--tolerance", "T", group,
           "stop once the norm of an update is at most T\n[default: the problem's]",
           saved<&S::tolerance>(), Ranks::alike, AtRestart::same},
          {"norm", "--norm", "KIND", group, "max, l2 or none [default: the problem's]",
           saved<&S::norm>(), Ranks::alike, AtRestart::same},
          {"norm_every", "--norm-every", "K", group,
           "take the norm every K sweeps, and at the last [default: 1]", saved<&S::norm_every>(),
           Ranks::alike, AtRestart::same},
          {"precision", "--precision", "P", group, "f32 or f64 [default: the problem's]",
           saved<&S::precision>(), Ranks::alike, AtRestart::same},
          {"parameters", "--set", "NAME=VALUE", group,
           "set a parameter of the problem; may be repeated", saved<&S::parameters>(), Ranks::alike,
           AtRestart::same, Times::any},
          {"seed", "--seed", "N", group,
           "seed of the noise that some problems start from\n[default: the problem's]",
           saved<&S::seed>(), Ranks::alike, AtRestart::same},
          {"initial",
           "--initial",
           "[FIELD=]FILE",
           group,
           "start from an array, .npy of shape ([NZ,] NY, NX), which sets\n"
           "--cells; of the first field or of FIELD, may be repeated",
           {read_initial, initials},
           Ranks::alike,
           AtRestart::refuse,
           Times::any}};
}

std::vector<Option> rows_of_how() {
  constexpr Group group = Group::how;
  return {{"process_grid", "--process-grid", "PXxPY[xPZ]", group,
           "ranks along each axis, x first\n[default: least traffic]", of<&S::process_grid>()},
          {"threads", "--threads", "N", group,
           "threads per rank [default: the rank's share of the cores]", of<&S::threads>(),
           Ranks::differ},
          {"backend", "--backend", "NAME", group,
           "auto (cuda if every rank sees a GPU), cuda, cpu or reference\n[default: auto]",
           of<&S::backend>()},
          {"memory", "--memory", "KIND", group,
           "where fields live: auto, device, managed, pinned, system or host\n[default: auto]",
           of<&S::memory>()},
          {"layout", "--layout", "NAME", group,
           "how fields lie in memory: array (rows), brick (boxes of 8x8x8\n"
           "cells) or brick:32x4x4 [default: auto: array]",
           of<&S::layout>()},
          {"simd", "--simd", "LEVEL", group,
           fmt::format("widest vectors to use: auto or {}\n[default: auto]",
                       fmt::join(stencil::simd_levels(), ", ")),
           of<&S::simd>(), Ranks::differ},
          {"formulas", "--formulas", "KIND", group,
           "how CPUs compute formulas that are not built in: auto, compiled (by the\n"
           "C++ compiler of this machine) or interpreted [default: auto: compiled\n"
           "in runs that are long enough]",
           of<&S::formulas>()},
          {"transport", "--transport", "NAME", group,
           "auto, peer, nccl, nvshmem, gpu_aware, staged, shared or mpi; or\n"
           "per kind of pair: same-node=peer,other-node=nccl\n[default: auto]",
           of<&S::transport>()},
          {"schedule", "--schedule", "NAME", group,
           "auto, sequential, overlap (sweep inside while halos move), fused,\n"
           "persistent (many sweeps in one kernel) [default: auto]",
           of<&S::schedule>()},
          {"graph", "--graph", "WHEN", group,
           "auto, on or off: queue sweeps as CUDA graphs [default: auto]", of<&S::graph>()},
          {"writing", "--writing", "WHEN", group,
           "auto, beside or between: write files and checkpoints during the run in\n"
           "a thread beside the sweeps, from copies of the fields, or between sweeps\n"
           "[default: auto]",
           of<&S::writing>()},
          {"tuning_file", "--tune", "FILE", group,
           "keep the fastest process grid, schedule and graph setting here", of<&S::tuning_file>(),
           Ranks::alike_given},
          {"tuning_seconds", "--tune-budget", "S", group,
           "measure them for at most S seconds; 0: choose by rule\n"
           "[default: 2; without --tune also at most 2 % of the sweeps]",
           of<&S::tuning_seconds>()},
          {"halo_depth", "--halo-depth", "K", group,
           "exchange every K sweeps, halos K times as deep [default: 1]", of<&S::halo_depth>()},
          {"sweeps_per_pass",
           "--sweeps-per-pass",
           "N|auto",
           group,
           "up to N sweeps, at most 16, in one pass over memory; auto: tried\n"
           "during a run, and kept if faster [default: auto]",
           {read_sweeps_per_pass, of<&S::sweeps_per_pass>().json, of<&S::sweeps_per_pass>().take}},
          {"proofs", "--proofs", "FILE", group,
           "file with the results of probe jobs\n[default: in the user's cache]", of<&S::proofs>(),
           Ranks::differ}};
}

std::vector<Option> rows_of_checkpoints() {
  constexpr Group group = Group::checkpoints;
  return {{"checkpoint", "--checkpoint", "FOLDER", group,
           "save the state of the run here; the newest two are kept", of<&S::checkpoint>()},
          {"checkpoint_every",
           "--checkpoint-every",
           "N|TIME",
           group,
           "every N sweeps, or 90s, 30min, 2h, and at the end [default: 30min]",
           {read_interval, interval, take_interval},
           Ranks::alike,
           AtRestart::inherit},
          {"restart", "--restart", "FOLDER", group,
           "continue from the newest checkpoint in FOLDER, or from one by its\n"
           "name, on any ranks; needs no PROBLEM",
           of<&S::restart>()}};
}

std::vector<Option> rows_of_results() {
  constexpr Group group = Group::results;
  return {
      {"verify", "--verify", "", group, "compare every cell with a run on one rank",
       of<&S::verify>()},
      {"verify_every", "--verify-every", "N", group,
       "every N sweeps, recompute some cells on the host and compare", of<&S::verify_every>()},
      {"baseline", "--baseline", "", group, "also time one rank alone: speed-up, efficiency",
       of<&S::baseline>(), Ranks::alike, AtRestart::refuse},
      {"output",
       "--output",
       "[FIELD=]FILE",
       group,
       "write the array (.npy) or a picture of it (.png), of the first\n"
       "field or of FIELD; for ParaView, all fields or FIELD (.vtkhdf,\n"
       ".vti); may be repeated",
       {[](SolveOptions& options, const std::string& word, const std::string&) {
          options.field_outputs.push_back(field_and_rest(word));
        },
        outputs},
       Ranks::alike,
       AtRestart::free,
       Times::any},
      {"output_every", "--output-every", "N", group,
       "write it at the start, every N sweeps and at the end, numbered:\n"
       "u-000100.npy; a .vtkhdf file has all times",
       of<&S::output_every>()},
      {"ranges", "--range", "[FIELD=]MIN,MAX", group,
       "values at the ends of the colours [default: those of the picture\n"
       "and, with --output-every, of those before]; may be repeated",
       of<&S::ranges>(), Ranks::alike, AtRestart::free, Times::any},
      {"sums", "--sum", "FIELD", group, "follow the sum of FIELD over all cells; may be repeated",
       saved<&S::sums>(), Ranks::alike, AtRestart::same, Times::any},
      {"probes", "--probe", "[FIELD@]X[,Y[,Z]]", group,
       "follow the value of a cell, by its index from 0; may be repeated", saved<&S::probes>(),
       Ranks::alike, AtRestart::same, Times::any},
      {"series", "--series", "FILE", group, "write sums and probes over time here (.csv)",
       of<&S::series>(), Ranks::alike_given},
      {"series_every",
       "--series-every",
       "K",
       group,
       "take them every K sweeps, at the start and at the end\n"
       "[default: --output-every, or a hundredth of the sweeps]",
       {of<&S::series_every>().read, of<&S::series_every>().json, take_series_interval},
       Ranks::alike,
       AtRestart::same},
      {"trace", "--trace", "FILE", group, "write a timeline for chrome://tracing or Perfetto",
       of<&S::trace>(), Ranks::alike_given}};
}

std::vector<Option> all_rows() {
  std::vector<Option> all;
  for (auto* const rows : {rows_of_what, rows_of_how, rows_of_checkpoints, rows_of_results})
    for (Option& row : rows()) all.push_back(std::move(row));
  return all;
}

/// Returns the text of a value, without quotes; paths may have any bytes.
std::string text_of(const Json& json) {
  if (json.is_null()) return "auto";
  if (json.is_string()) return json.get<std::string>();
  if (!json.is_structured()) return write_json(json);
  std::string text;
  for (const Json& one : json) text += (text.empty() ? "" : ",") + text_of(one);
  return text.empty() ? "none" : text;
}

}  // namespace

bool Option::is_given(const SolveOptions& options) const {
  static const SolveOptions none;
  return value.json(options) != value.json(none);
}

std::span<const Option> options() {
  // Never destroyed: errors at the exit of the process name options, too.
  static const auto& rows = *new std::vector<Option>(all_rows());
  return rows;
}

std::vector<std::string> shared_options(const SolveOptions& options) {
  std::vector<std::string> lines{
      fmt::format("problem {}", options.problem.name()),
      fmt::format("stop requests {}", options.stop_request ? "looked for" : "none")};
  for (const Option& option : solver::options()) {
    const Json value = option.value.json(options);
    if (option.ranks == Option::Ranks::alike)
      lines.push_back(fmt::format("{} {}", option.name, text_of(value)));
    else if (option.ranks == Option::Ranks::alike_given)
      lines.push_back(fmt::format("{} {}", option.name, value.is_null() ? "none" : "given"));
  }
  for (const SolveOptions::Array& array : options.arrays)
    lines.push_back(fmt::format("array of {} for {}", array.name, word_for(array.use)));
  std::istringstream text(options.problem.text() + options.problem.updates());
  for (std::string line; std::getline(text, line);)
    lines.push_back(fmt::format("problem's text {}", line));
  return lines;
}

}  // namespace halocline::solver

namespace halocline {

void set_option(SolveOptions& options, const std::string& name, const std::string& word) {
  std::vector<std::string> names;
  for (const solver::Option& option : solver::options()) {
    if (option.name == name) {
      const std::string what = fmt::format("option '{}'", name);
      if (option.times == solver::Option::Times::once && option.is_given(options))
        refuse(what + " is given twice; give it once");
      return option.value.read(options, word, what);
    }
    names.emplace_back(option.name);
  }
  refuse("a solve has no option '{}'{}", name, do_you_mean(name, names));
}

}  // namespace halocline
