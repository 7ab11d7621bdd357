// SPDX-License-Identifier: Apache-2.0
#include "solver/option_words.hpp"

#include <fmt/format.h>

#include <halocline/error.hpp>

namespace halocline::solver {
namespace {

[[noreturn]] void refuse(const std::string& text) { throw Error(ErrorKind::usage, text); }

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
  using Graphs = SolveOptions::Graphs;
  for (const Graphs graphs : {Graphs::automatic, Graphs::on, Graphs::off})
    if (word_for(graphs) == word) return graphs;
  refuse(fmt::format("option 'graph' cannot be '{}'; use auto, on or off", word));
}

std::string word_for(const std::optional<Memory>& memory) {
  return memory ? std::string(name_of(*memory)) : "auto";
}

std::string word_for(SolveOptions::Graphs graphs) {
  using Graphs = SolveOptions::Graphs;
  return graphs == Graphs::automatic ? "auto" : graphs == Graphs::on ? "on" : "off";
}

}  // namespace halocline::solver
