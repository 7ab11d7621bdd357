// SPDX-License-Identifier: Apache-2.0
#include "unit/mutations.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

namespace halocline::test {
namespace {

// What a text may be hostile with: limits, numbers at the ends of their types, TOML's own traps.
const std::vector<std::string_view> snippets{"9223372036854775807",
                                             "-9223372036854775808",
                                             "18446744073709551616",
                                             "1e308",
                                             "1e309",
                                             "-0.0",
                                             "0",
                                             "1",
                                             "-1",
                                             "2147483648",
                                             "1e-320",
                                             "nan",
                                             "inf",
                                             "0x10",
                                             "1_000",
                                             "true",
                                             "8",
                                             "9",
                                             "-8",
                                             "16",
                                             "17",
                                             "\"",
                                             "'",
                                             "\"\"\"",
                                             "'''",
                                             "\\u0000",
                                             "\\U0010FFFF",
                                             "[[fields]]",
                                             "[fields]",
                                             "[fields.u.boundary]",
                                             "[update.u]",
                                             "fields.u.initial = 1",
                                             "locals.a = \"a\"",
                                             "a = { b = { c = 1 } }",
                                             "\"\" = 1",
                                             "1979-05-27T07:32:00Z",
                                             "u[",
                                             "u[1",
                                             "u[1,",
                                             "u[1,1]",
                                             "u[9,0]",
                                             "u[-9]",
                                             "^",
                                             "^^",
                                             "^-16",
                                             "^17",
                                             "-",
                                             "--",
                                             "not",
                                             "and",
                                             "or",
                                             "< <",
                                             "==",
                                             "=",
                                             "select(",
                                             "laplace(",
                                             "laplace(laplace(laplace(u)))",
                                             "laplace(u, 8)",
                                             "ddx(u, 9)",
                                             "pow(",
                                             "fma(",
                                             "noise(",
                                             "noise(-1)",
                                             "t",
                                             "dt",
                                             "x",
                                             "nx",
                                             "(",
                                             ")",
                                             ",",
                                             "#",
                                             "\n",
                                             "\r\n",
                                             "\t",
                                             "\xff",
                                             "\xc3",
                                             "periodic",
                                             "reflect",
                                             "outside",
                                             "value",
                                             "derivative",
                                             "mixed = { a = 0, b = 0, c = 0 }",
                                             "file = \"u.npy\"",
                                             "file = \"/dev/zero\"",
                                             "axes = [1, 2, 3]",
                                             "axes = 3",
                                             "cells = [1]",
                                             "cells = [4294967296, 4294967296, 4294967296]",
                                             "sweeps = 0",
                                             "time = 1e300",
                                             "tolerance = -1",
                                             "norm = { of = \"v\", kind = \"l2\" }",
                                             "precision = \"f16\"",
                                             "seed = -1",
                                             "upper = [0, 0]",
                                             "lower = [\"1/0\"]",
                                             "parameters.dt = \"1/0\"",
                                             "parameters.dt = 0",
                                             "colour = 1"};

bool is_of_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::vector<std::string_view> words_of(const std::string& text) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && is_of_word(text[end])) ++end;
    if (end > at) words.emplace_back(text.data() + at, end - at);
    at = std::max(end, at + 1);
  }
  return words;
}

/// (first, end) of each line, with its newline.
std::vector<std::pair<std::size_t, std::size_t>> lines_of(const std::string& text) {
  std::vector<std::pair<std::size_t, std::size_t>> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t newline = text.find('\n', at);
    const std::size_t end = newline == text.npos ? text.size() : newline + 1;
    lines.emplace_back(at, end);
    at = end;
  }
  return lines;
}

}  // namespace

Mutations::Mutations(std::uint64_t seed, std::vector<std::string> texts)
    : generator_(seed), texts_(std::move(texts)) {
  for (const std::string& text : texts_)
    for (const std::string_view word : words_of(text)) words_.push_back(word);
}

std::string Mutations::next() {
  std::string text = texts_[below(texts_.size())];
  // Half of them once: of many changes one is refused, and the others are not looked at.
  do change(text);
  while (below(2) == 0);
  return text;
}

void Mutations::change(std::string& text) {
  const int how = static_cast<int>(below(22));
  if (how < 5) return change_bytes(text, how);
  if (how < 10) return change_lines(text, how - 5);
  change_words(text, (how - 10) % 6);
}

void Mutations::change_bytes(std::string& text, int how) {
  const std::size_t at = below(text.size()), size = 1 + below(20);
  if (how == 0 && !text.empty()) text[at] = static_cast<char>(generator_());
  if (how == 1) text.insert(at, 1, static_cast<char>(generator_()));
  if (how == 2) text.erase(at, size);
  if (how == 3) text.insert(at, text.substr(below(text.size()), size));
  // Deep, or long.
  if (how == 4) {
    const std::size_t times = std::size_t{1} << below(12);
    std::string many;
    const std::string_view what = below(2) == 0 ? std::string_view("(") : one_of(snippets);
    for (std::size_t i = 0; i < times; ++i) many += what;
    text.insert(at, many);
  }
}

void Mutations::change_lines(std::string& text, int how) {
  const auto lines = lines_of(text);
  if (lines.empty()) return;
  const auto [first, end] = lines[below(lines.size())];
  const std::string line = text.substr(first, end - first);
  if (how == 0) text.erase(first, end - first);
  if (how == 1) text.insert(first, line);
  if (how == 2) {
    const auto [place, ignored] = lines[below(lines.size())];
    text.erase(first, end - first);
    text.insert(std::min(place, text.size()), line);
  }
  if (how == 3) {
    const std::string& other = texts_[below(texts_.size())];
    const auto of_other = lines_of(other);
    const auto [from, to] = of_other[below(of_other.size())];
    text.insert(first, other.substr(from, to - from));
  }
  // From here on another text.
  if (how == 4) {
    const std::string& other = texts_[below(texts_.size())];
    text.resize(first);
    text += other.substr(below(other.size()));
  }
}

void Mutations::change_words(std::string& text, int how) {
  const std::vector<std::string_view> words = words_of(text);
  if (words.empty()) return;
  const std::string_view word = words[below(words.size())];
  const auto at = static_cast<std::size_t>(word.data() - text.data());
  const std::size_t size = word.size();
  if (how == 0) text.replace(at, size, one_of(words_));
  if (how == 1) text.replace(at, size, one_of(snippets));
  if (how == 2) text.insert(at, one_of(snippets));
  if (how == 3) text.insert(at + size, 1, static_cast<char>('a' + below(26)));
  if (how == 4)
    text.replace(at, size, std::to_string(static_cast<std::int64_t>(generator_() % 41) - 20));
  if (how == 5) text.replace(at, size, std::string(word).append(word));
}

}  // namespace halocline::test
