// SPDX-License-Identifier: Apache-2.0
#include "bench/comparison.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <halocline/error.hpp>

#include "bench/traits.hpp"

namespace halocline::bench {
namespace {

/// What tells the cases of a benchmark apart, and what is compared: keys of its JSON report.
struct Kind {
  const char* benchmark;
  std::vector<std::string> keys;
  struct Measured {
    std::string key, label;
    double factor = 1;  ///< from the unit of the key to that of the label
  };
  std::vector<Measured> measured;
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all{
      {"halo",
       {"cells_per_rank", "width", "fields", "memory", "transport", "graph"},
       {{"median_us", "us"}}},
      {"p2p",
       {"ranks", "memory", "transport", "bytes"},
       {{"latency_us", "latency us"},
        {"one_way_mb_per_s", "one way GB/s", 1e-3},
        {"both_ways_mb_per_s", "both ways GB/s", 1e-3}}}};
  return all;
}

const Kind& kind_named(const std::string& benchmark) {
  for (const Kind& kind : kinds())
    if (kind.benchmark == benchmark) return kind;
  throw Error(ErrorKind::usage,
              fmt::format("--ab does not work with bench {}; use it with bench halo or bench p2p",
                          benchmark));
}

/// "1024x1024", "0-1", "peer", "8".
std::string value_text(const std::string& key, const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump();
  std::vector<std::string> words;
  for (const Json& each : value) words.push_back(each.dump());
  return fmt::format("{}", fmt::join(words, key == "ranks" ? "-" : "x"));
}

std::vector<std::string> texts_of(const Kind& kind, const Json& the_case) {
  std::vector<std::string> texts;
  for (const std::string& key : kind.keys) texts.push_back(value_text(key, the_case.at(key)));
  return texts;
}

/// What people call a key.
std::string label_of(const std::string& key) {
  return key == "ranks" ? "pair" : key == "cells_per_rank" ? "cells/rank" : key;
}

/// A cell of a table: bytes in a readable unit.
std::string shown(const std::string& key, const std::string& text) {
  return key == "bytes" ? bytes_text(std::stod(text)) : text;
}

/// The median over runs, the mean of two in the middle; nothing if no run has it.
std::optional<double> median_of(const std::vector<Json>& runs, const Kind& kind,
                                const std::vector<std::string>& the_case, const std::string& key) {
  std::vector<double> values;
  for (const Json& run : runs)
    for (const Json& each : run.at("cases"))
      if (texts_of(kind, each) == the_case && each.at(key).is_number())
        values.push_back(each.at(key).get<double>());
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

/// Of both sides, in the order in which runs first had them.
std::vector<std::vector<std::string>> cases_of(const Kind& kind, const Runs& runs) {
  std::vector<std::vector<std::string>> cases;
  for (const std::vector<Json>* side : {&runs.a, &runs.b})
    for (const Json& run : *side)
      for (const Json& each : run.at("cases"))
        if (std::vector<std::string> texts = texts_of(kind, each);
            std::find(cases.begin(), cases.end(), texts) == cases.end())
          cases.push_back(std::move(texts));
  return cases;
}

/// Whether a column tells something: sizes and the like that all cases share do not.
bool differs(const std::vector<std::vector<std::string>>& cases, std::size_t key) {
  return std::any_of(cases.begin(), cases.end(), [&](const std::vector<std::string>& texts) {
    return texts[key] != cases[0][key];
  });
}

struct Sides {
  std::optional<double> a, b, ratio;
};

Sides sides_of(const Runs& runs, const Kind& kind, const std::vector<std::string>& the_case,
               const std::string& key) {
  Sides sides{median_of(runs.a, kind, the_case, key), median_of(runs.b, kind, the_case, key), {}};
  if (sides.a && sides.b && *sides.a > 0) sides.ratio = *sides.b / *sides.a;
  return sides;
}

void add_json_cases(Report& report, const Kind& kind, const Runs& runs,
                    const std::vector<std::vector<std::string>>& cases) {
  Table table{.key = "cases", .title = "", .columns = {}, .audience = Audience::json};
  for (const std::string& key : kind.keys) table.columns.push_back({key, key});
  for (const Kind::Measured& measured : kind.measured)
    for (const char* side : {"a", "b", "ratio"}) {
      const std::string key = fmt::format("{}_{}", measured.key, side);
      table.columns.push_back({key, key});
    }
  for (const auto& the_case : cases) {
    std::vector<Value> row(the_case.begin(), the_case.end());
    for (const Kind::Measured& measured : kind.measured) {
      const Sides sides = sides_of(runs, kind, the_case, measured.key);
      for (const auto& value : {sides.a, sides.b, sides.ratio}) row.push_back(value);
    }
    table.add(std::move(row));
  }
  report.add_table(std::move(table));
}

void add_times(Report& report, const Kind& kind, const Runs& runs,
               const std::vector<std::vector<std::string>>& cases) {
  for (const Kind::Measured& measured : kind.measured) {
    Table table{
        .key = measured.key, .title = measured.label, .columns = {}, .audience = Audience::text};
    for (std::size_t k = 0; k < kind.keys.size(); ++k)
      if (differs(cases, k)) table.columns.push_back({kind.keys[k], label_of(kind.keys[k])});
    for (Column column :
         {Column{"a", "A", Format::rate("", 4)}, Column{"b", "B", Format::rate("", 4)},
          Column{"ratio", "B / A", Format::rate("", 3)}})
      table.columns.push_back(std::move(column));
    for (const auto& the_case : cases) {
      std::vector<Value> row;
      for (std::size_t k = 0; k < kind.keys.size(); ++k)
        if (differs(cases, k)) row.push_back(shown(kind.keys[k], the_case[k]));
      const Sides sides = sides_of(runs, kind, the_case, measured.key);
      for (std::optional<double> side : {sides.a, sides.b}) {
        if (side) *side *= measured.factor;
        row.push_back(side);
      }
      row.push_back(sides.ratio);
      table.add(std::move(row));
    }
    report.add_line("");
    report.add_table(std::move(table));
  }
}

/// What any run says, once.
std::vector<std::string> notes_of(const Runs& runs) {
  std::vector<std::string> notes;
  const auto add = [&](const std::vector<Json>& side, const char* name) {
    for (const Json& run : side)
      for (const Json& note : run.at("notes")) {
        std::string text = fmt::format("{}: {}", name, note.get<std::string>());
        if (std::find(notes.begin(), notes.end(), text) == notes.end())
          notes.push_back(std::move(text));
      }
  };
  add(runs.a, "A");
  add(runs.b, "B");
  return notes;
}

}  // namespace

Setting setting_named(const std::string& word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos && word.size() > 1 && word.back() == '-')
    return {word.substr(0, word.size() - 1), "", Setting::Kind::unset};
  if (equals == std::string::npos || equals == 0)
    throw Error(ErrorKind::usage,
                fmt::format("--ab '{}' is not a setting; write NAME=VALUE, or NAME- to unset a "
                            "variable",
                            word));
  return {word.substr(0, equals), word.substr(equals + 1), Setting::Kind::set};
}

std::string words_for(const Setting& setting) {
  return setting.kind == Setting::Kind::unset ? fmt::format("without {}", setting.name)
                                              : fmt::format("{}={}", setting.name, setting.value);
}

Report compare(const Setting& setting, const Runs& runs) {
  const auto benchmark = runs.a.at(0).at("bench").get<std::string>();
  const Kind& kind = kind_named(benchmark);
  const std::vector<std::vector<std::string>> cases = cases_of(kind, runs);
  Report report("", fmt::format("bench {}, A unchanged, B {}", benchmark, words_for(setting)));
  report.add_json("bench", "ab");
  report.add_json("of", benchmark);
  report.add_json("name", setting.name);
  report.add_json("value", setting.kind == Setting::Kind::set ? Value(setting.value) : Value());
  report.add("ranks", "ranks", runs.a[0].at("ranks").get<std::int64_t>());
  report.add("runs", "runs", runs.a.size(),
             fmt::format("{} of each, alternating, in separate jobs; medians", runs.a.size()));
  for (std::size_t k = 0; k < kind.keys.size(); ++k)
    if (!cases.empty() && !differs(cases, k))
      report.add_text(label_of(kind.keys[k]), shown(kind.keys[k], cases[0][k]));
  report.add("mpi", "MPI", runs.a[0].at("mpi").get<std::string>());
  add_json_cases(report, kind, runs, cases);
  add_times(report, kind, runs, cases);
  const std::vector<std::string> notes = notes_of(runs);
  if (!notes.empty()) report.add_line("");
  report.add_notes("notes", notes);
  return report;
}

}  // namespace halocline::bench
