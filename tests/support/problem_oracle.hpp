// SPDX-License-Identifier: Apache-2.0
#pragma once
// What must be true of every text that is read as a problem file: refused or accepted.

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "problem/model.hpp"
#include "problem/toml.hpp"
#include "problem/written.hpp"

namespace halocline::test {

/// Keys, as docs/problem-files.md lists them.
namespace known_keys {

using Keys = std::set<std::string, std::less<>>;
inline const Keys top{"title",        "axes",   "cells",      "lower",   "upper",
                      "precision",    "seed",   "parameters", "require", "fields",
                      "coefficients", "locals", "update",     "stop"};
inline const Keys of_parameter{"value", "help"}, of_field{"initial", "boundary"},
    of_coefficient{"value"}, of_start{"file"}, of_stop{"sweeps", "time", "tolerance", "norm"},
    of_norm{"of", "kind"}, sides{"x", "y", "z", "x-", "x+", "y-", "y+", "z-", "z+", "*"},
    rules{"value", "outside", "derivative", "mixed"}, of_mixed{"a", "b", "c"},
    by_axes{"1", "2", "3"};

inline std::optional<std::string> unknown_in(const toml::node* node, const Keys& keys) {
  const toml::table* const table = node == nullptr ? nullptr : node->as_table();
  if (table == nullptr) return std::nullopt;
  for (const auto& [key, value] : *table)
    if (!keys.contains(key.str())) return std::string(key.str());
  return std::nullopt;
}

/// Of values by number of axes, and of files.
inline std::optional<std::string> unknown_in_start(const toml::node* node) {
  const toml::table* const table = node == nullptr ? nullptr : node->as_table();
  if (table == nullptr) return std::nullopt;
  if (table->contains("file")) return unknown_in(node, of_start);
  if (auto key = unknown_in(node, by_axes)) return key;
  for (const auto& [axes, value] : *table)
    if (auto key = unknown_in(&value, of_start)) return key;
  return std::nullopt;
}

inline std::optional<std::string> unknown_in_boundary(const toml::node* node) {
  const toml::table* const table = node == nullptr ? nullptr : node->as_table();
  if (table == nullptr) return std::nullopt;
  const auto in_rule = [](const toml::node* rule) -> std::optional<std::string> {
    if (auto key = unknown_in(rule, rules)) return key;
    return rule->is_table() ? unknown_in(rule->as_table()->get("mixed"), of_mixed) : std::nullopt;
  };
  if (!unknown_in(node, rules)) return in_rule(node);
  if (auto key = unknown_in(node, sides)) return key;
  for (const auto& [side, rule] : *table)
    if (auto key = in_rule(&rule)) return key;
  return std::nullopt;
}

template <class Check>
std::optional<std::string> first_in(const toml::node* node, const Check& check) {
  if (const toml::table* const table = node == nullptr ? nullptr : node->as_table())
    for (const auto& [name, value] : *table)
      if (auto key = check(value)) return key;
  return std::nullopt;
}

}  // namespace known_keys

/// Returns a key that problem files do not have.
inline std::optional<std::string> unknown_key(const std::string& text) {
  using namespace known_keys;
  const toml::table file = toml::parse(text);
  if (auto key = unknown_in(&file, top)) return key;
  for (const char* const along : {"cells", "lower", "upper"})
    if (auto key = unknown_in(file.get(along), by_axes)) return key;
  if (auto key = first_in(file.get("parameters"),
                          [](const toml::node& one) { return unknown_in(&one, of_parameter); }))
    return key;
  if (auto key = first_in(file.get("fields"), [](const toml::node& one) {
        if (auto unknown = unknown_in(&one, of_field)) return unknown;
        const toml::table& field = *one.as_table();
        if (auto unknown = unknown_in_start(field.get("initial"))) return unknown;
        return unknown_in_boundary(field.get("boundary"));
      }))
    return key;
  if (auto key = first_in(file.get("coefficients"), [](const toml::node& one) {
        const bool is_file = one.is_table() && one.as_table()->contains("file");
        return unknown_in(&one, is_file ? of_start : of_coefficient);
      }))
    return key;
  for (const char* const named : {"locals", "update"})
    if (auto key = first_in(file.get(named),
                            [](const toml::node& one) { return unknown_in(&one, by_axes); }))
      return key;
  if (auto key = unknown_in(file.get("stop"), of_stop)) return key;
  const toml::table* const stop = file.get("stop") ? file.get("stop")->as_table() : nullptr;
  return stop == nullptr ? std::nullopt : unknown_in(stop->get("norm"), of_norm);
}

/// Returns what is wrong with an accepted text; empty if nothing.
inline std::string fault_of(const problem::Model& model, const std::string& text) {
  if (problem::written_out(model).empty()) return "no formula is written out";
  problem::effort_of(model);
  const auto key = unknown_key(text);
  return key ? "unknown key " + *key : "";
}

/// Returns what is wrong with the error of a text that is refused; empty if nothing.
inline std::string fault_of(const Error& error) {
  const std::string_view what = error.what();
  if (error.kind() != ErrorKind::usage) return fmt::format("an error: {}", what);
  const bool is_obeyed = std::any_of(what.begin(), what.end(), [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7f;
  });
  if (is_obeyed) return fmt::format("an error that no terminal should print: {}", what);
  return what.size() > 4096 ? fmt::format("an error of {} bytes", what.size()) : "";
}

}  // namespace halocline::test
