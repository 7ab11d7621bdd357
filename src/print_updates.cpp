// SPDX-License-Identifier: Apache-2.0
// Prints the updates of built-in problems as C++, when Halocline is built: cmake/built_in.cmake.
//
//   halocline_print_updates FOLDER LEVELS PROBLEM-AXES...
//
// Makes FOLDER/LEVEL.cpp for each of some levels of vectors, separated by commas, and
// FOLDER/built_in_updates.cpp, which lists what is in them.

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "compiler/kept_code.hpp"
#include "problem/catalogue.hpp"
#include "stencil/cpu/text/printed.hpp"

namespace halocline {

namespace {

/// Leaves a file alone that is so already, and with it what was compiled of it.
void write(const std::filesystem::path& path, const std::string& text) {
  std::ifstream old(path, std::ios::binary);
  if (std::string{std::istreambuf_iterator<char>(old), {}} == text) return;
  if (!(std::ofstream(path, std::ios::binary) << text).flush())
    throw Error(ErrorKind::resource, "cannot write " + path.string());
}

std::vector<std::string> split(const std::string& words, char at) {
  std::vector<std::string> all{""};
  for (const char one : words)
    if (one == at)
      all.emplace_back();
    else
      all.back() += one;
  return all;
}

struct Printed {
  std::string name, source;
  std::string text;  ///< its hash
};

std::vector<Printed> printed(const std::vector<std::string>& problems) {
  std::vector<Printed> all;
  for (const std::string& row : problems) {
    const std::vector<std::string> words = split(row, '-');
    const problem::ProblemText text = problem::find_problem(words.at(0));
    for (const Precision precision : {Precision::f32, Precision::f64}) {
      const problem::Model model =
          problem::model_of(problem::read_text(text.name, text.text),
                            {.axes = std::stoi(words.at(1)), .precision = precision});
      const std::string name = fmt::format("{}_{}_{}", words[0], words[1], name_of(precision));
      all.push_back({.name = name,
                     .source = stencil::cpu::print_update(model, name).source,
                     .text = compiler::content_hash(stencil::cpu::print_update(model).source)});
    }
  }
  return all;
}

void run(const std::vector<std::string>& words) {
  if (words.size() < 2)
    throw Error(ErrorKind::usage, "usage: halocline_print_updates FOLDER LEVELS PROBLEM-AXES...");
  const std::filesystem::path folder = words[0];
  const std::vector<Printed> updates = printed({words.begin() + 2, words.end()});
  std::string names, rows;
  for (const std::string& level : split(words[1], ',')) {
    std::string source = "#include \"stencil/cpu/text/rows.hpp\"\n";
    for (const Printed& one : updates) {
      const std::string function = fmt::format("halocline_update_{}_{}", one.name, level);
      source += fmt::format("\n#undef HALOCLINE_UPDATE\n#define HALOCLINE_UPDATE {}\n", function) +
                one.source;
      names += fmt::format("extern \"C\" halocline::stencil::cpu::Update {};\n", function);
      rows += fmt::format("      {{\"{}\", \"{}\", {}}},\n", one.text, level, function);
    }
    write(folder / (level + ".cpp"), source);
  }
  write(folder / "built_in_updates.cpp", fmt::format(R"(#include <array>

#include "stencil/cpu/text/printed.hpp"

{}
namespace halocline::stencil::cpu {{

std::span<const BuiltInUpdate> built_in_updates() {{
  static constexpr auto all = std::to_array<BuiltInUpdate>({{
{}  }});
  return all;
}}

}}  // namespace halocline::stencil::cpu
)",
                                                     names, rows));
}

}  // namespace
}  // namespace halocline

int main(int argc, char** argv) {
  try {
    halocline::run({argv + 1, argv + argc});
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "halocline_print_updates: %s\n", error.what());
    return 1;
  }
}
