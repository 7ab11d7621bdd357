// SPDX-License-Identifier: Apache-2.0
#include "cli/problem_command.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <halocline/error.hpp>
#include <halocline/grid.hpp>

#include "base/text/format.hpp"
#include "base/text/words.hpp"
#include "cli/options.hpp"
#include "cli/parse.hpp"
#include "doctor/speeds.hpp"
#include "grid/text.hpp"
#include "launch/launcher.hpp"
#include "problem/catalogue.hpp"
#include "problem/model.hpp"
#include "problem/written.hpp"
#include "solver/run_files/outputs.hpp"
#include "stencil/compiled.hpp"
#include "stencil/sweep.hpp"

namespace halocline::cli {
namespace {

using problem::File;
using problem::Model;

File file_of(const std::string& problem) {
  const problem::ProblemText found = problem::find_problem(problem);
  return problem::read_text(found.name, found.text);
}

/// "1 to 3", "3", "1 or 3"
std::string axes_text(std::vector<int> axes) {
  std::sort(axes.begin(), axes.end());
  if (axes.size() == 3) return "1 to 3";
  return fmt::format("{}", fmt::join(axes, axes == std::vector{1, 3} ? " or " : " to "));
}

std::string stop_text(const Model& model) {
  std::string text = counted(model.sweeps, "sweep");
  if (!model.tolerance) return text;
  std::vector<std::string> fields;
  for (const std::size_t field : model.norm_of) fields.push_back(model.fields[field].name);
  return text + fmt::format(" or until the {} norm of {} is at most {:g}", name_of(model.norm),
                            fmt::join(fields, ", "), *model.tolerance);
}

std::string side_text(const problem::SideRule& rule, const Model& model) {
  if (rule.kind == problem::BoundaryKind::reflect) return "reflect";
  const problem::Ref value = rule.values[rule.kind == problem::BoundaryKind::mixed ? 2 : 0];
  if (rule.kind == problem::BoundaryKind::mixed || !model.tree.is_constant(value))
    return std::string(name_of(rule.kind));
  return fmt::format("{} {:g}", name_of(rule.kind), model.tree[value].value);
}

/// "x- reflect, x+ value 1, y periodic"
std::string sides_text(const Model& model, const problem::ModelField& field) {
  std::vector<std::string> sides;
  for (int axis = 0; axis < model.axes; ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    const auto &lower = field.sides[2 * a], &upper = field.sides[2 * a + 1];
    if (model.periodic[a]) sides.push_back(fmt::format("{} periodic", "xyz"[axis]));
    const std::string below = lower ? side_text(*lower, model) : "";
    const std::string above = upper ? side_text(*upper, model) : "";
    if (lower && below == above) {
      sides.push_back(fmt::format("{} {}", "xyz"[axis], below));
      continue;
    }
    if (lower) sides.push_back(fmt::format("{}- {}", "xyz"[axis], below));
    if (upper) sides.push_back(fmt::format("{}+ {}", "xyz"[axis], above));
  }
  return fmt::format("{}", fmt::join(sides, ", "));
}

/// "x 0 to 1 by 0.01, y 0 to 2 by 0.02"
std::string domain_text(const Model& model) {
  std::string text;
  for (std::size_t a = 0; a < static_cast<std::size_t>(model.axes); ++a)
    text += fmt::format("{}{} {:g} to {:g} by {:g}", a > 0 ? ", " : "", "xyz"[a], model.lower[a],
                        model.upper[a], model.spacing[a]);
  return text;
}

std::string widths_text(const HaloWidths& widths, int axes) {
  std::string text;
  for (int axis = 0; axis < axes; ++axis)
    text += fmt::format("{}{} {}", axis > 0 ? ", " : "", "xyz"[axis],
                        widths.lower[axis] == widths.upper[axis]
                            ? fmt::format("{}", widths.lower[axis])
                            : fmt::format("-{} +{}", widths.lower[axis], widths.upper[axis]));
  return text;
}

/// "x 4, y 4, exchanged every 2 sweeps"
std::string halo_text(const solver::Case& the_case) {
  return fmt::format("{}, exchanged {}", widths_text(the_case.halo(), the_case.model->axes),
                     the_case.halo_depth == 1
                         ? "before each sweep"
                         : fmt::format("every {} sweeps", the_case.halo_depth));
}

std::string explained_row(const char* name, const std::string& value) {
  return fmt::format("  {:<13} {}\n", name, value);
}

struct Copy {
  double gb_per_s;    ///< read and written
  std::string where;  ///< "one NVIDIA H200", "2 cores"
  bool of_gpu;
};

/// Times a copy on the device that the model would use.
Copy timed_copy(const Model& model, const std::string& backend) {
  const stencil::Backend& cuda = stencil::find_backend("cuda");
  if ((backend == "cuda" || backend == "auto") && !cuda.unavailable() &&
      !cuda.cannot_sweep_because(model)) {
    const doctor::GpuSpeed gpu = doctor::time_gpu(0);
    return {gpu.copy_gb_per_s, "one " + gpu.name, true};
  }
  const int cores = usable_cores();
  return {doctor::time_host_copy(cores), counted(cores, "core"), false};
}

std::string where_it_runs(const Model& model) {
  if (stencil::is_compiled_in(model)) return "CPUs and GPUs, by kernels that come with the program";
  const auto why_not = stencil::cannot_be_compiled_because(model);
  return why_not ? fmt::format("CPUs; not on GPUs: {}", *why_not)
                 : "CPUs, and GPUs where NVRTC compiles its formulas";
}

std::string passes_text(const Model& model) {
  const stencil::Backend& gpus = stencil::find_backend("cuda");
  if (const auto why_not = gpus.cannot_pass_because(model))
    return fmt::format("one sweep at a time: {}", *why_not);
  const std::int64_t sweeps = gpus.suggested_sweeps_of_pass(model, model.norm);
  if (sweeps < 2) return "one sweep at a time: several in one over memory are slower";
  return fmt::format("on GPUs {} in one over memory, if faster; {:.0f} % more updates",
                     counted(sweeps, "sweep"), 100 * gpus.redundant_in_pass(model, sweeps));
}

Model chosen_model(const std::string& problem, const std::vector<std::string>& settings,
                   const std::optional<std::string>& cells) {
  problem::Choices choices;
  for (const auto& [name, value] : parse_assignments(settings, "--set"))
    choices.parameters[name] = value;
  if (cells) {
    const Extents extents = parse_extents(*cells, "--cells");
    for (int axis = 0; axis < extents.axes(); ++axis) choices.cells.push_back(extents[axis]);
  }
  return problem::model_of(file_of(problem), choices);
}

}  // namespace

ProblemLine::ProblemLine(Syntax& syntax)
    : problem_(syntax.subcommand("problem", "list, show and check problems")),
      list_(problem_.subcommand("list", "list the built-in problems")),
      show_(problem_.subcommand("show", "print the text of a problem, which runs as a file")),
      check_(problem_.subcommand("check",
                                 "check a problem file and the arrays that it names; print its "
                                 "formulas, written out, and what they take")) {
  problem_.footer(
      "A problem file is TOML text: fields, their start values, boundaries and updates.\n"
      "docs/problem-files.md explains it.\n\n"
      "Examples:\n"
      "  halocline problem show heat > mine.toml\n"
      "  halocline problem check mine.toml\n"
      "  halocline solve mine.toml --cells 512x512 --output u.png\n\n"
      "Exit codes: 0 ok, 2 usage or a mistake in the file.");
  show_.word("problem", "PROBLEM", shown_, "name of a problem, or a file");
  check_.word("problem", "FILE", checked_, "a file, or the name of a problem");
  const OptionGroup what = check_.group("What to check");
  what.option("--cells", "NXxNY[xNZ]", cells_, "cells along each axis [default: the file's]");
  what.option("--set", "NAME=VALUE", settings_, "set a parameter of the problem; may be repeated");
}

bool ProblemLine::parsed() const { return problem_.parsed(); }

std::string ProblemLine::answer() const {
  if (list_.parsed()) return list_of_problems();
  if (show_.parsed()) return problem::find_problem(shown_).text;
  if (check_.parsed()) {
    const Model model = chosen_model(checked_, settings_, cells_);
    std::vector<std::optional<std::string>> initial;
    for (const problem::ModelField& field : model.fields) initial.push_back(field.initial.file);
    solver::check_start_files(model, initial);
    return explained(model);
  }
  throw Error(ErrorKind::usage,
              "problem needs one of: list, show, check; see halocline problem --help");
}

std::string explained(const problem::Model& model) {
  std::string text =
      fmt::format("{}{}{}\n", model.name, model.title.empty() ? "" : ": ", model.title);
  const auto row = [&](const char* name, const std::string& value) {
    text += explained_row(name, value);
  };
  row("cells", fmt::format("{} in {}", grid::text_of(Extents(model.cells, model.axes)),
                           name_of(model.precision)));
  row("domain", domain_text(model));
  row("stops after", stop_text(model));
  const char* name = "formulas";
  for (const std::string& line : problem::written_out(model)) row(std::exchange(name, ""), line);
  for (const problem::ModelField& field : model.fields)
    if (const std::string sides = sides_text(model, field); !sides.empty())
      row("boundary", model.fields.size() > 1 ? fmt::format("{}: {}", field.name, sides) : sides);
  const problem::Effort effort = problem::effort_of(model);
  row("reach", widths_text(model.reach(), model.axes));
  row("per cell", fmt::format("{}, {} of memory", counted(effort.operations, "operation"),
                              counted(effort.bytes, "byte")));
  row("memory",
      counted(model.levels() * model.updates().size() + model.coefficients.size(), "array"));
  row("runs on", where_it_runs(model));
  if (!stencil::cannot_be_compiled_because(model)) row("passes", passes_text(model));
  return text;
}

std::string explained_here(const solver::Case& the_case, const std::string& backend) {
  const Model& model = *the_case.model;
  solver::check_start_files(model, the_case.initial);
  const double cells = static_cast<double>(model.cells.x) * static_cast<double>(model.cells.y) *
                       static_cast<double>(model.cells.z);
  const double bytes = cells * static_cast<double>(problem::effort_of(model).bytes);
  const Copy copy = timed_copy(model, backend);
  const stencil::Backend& gpus = stencil::find_backend("cuda");
  const bool passes = copy.of_gpu && !gpus.cannot_pass_because(model) &&
                      gpus.suggested_sweeps_of_pass(model, model.norm) > 1;
  return explained(model) + explained_row("halo", halo_text(the_case)) +
         explained_row("time here",
                       fmt::format("at least {} a sweep, as memory is copied at {} ({}); less if "
                                   "caches hold the fields{}",
                                   write_number(bytes / (1e9 * copy.gb_per_s), Format::time()),
                                   write_number(copy.gb_per_s, Format::rate("GB/s")), copy.where,
                                   passes ? ", or by several sweeps in one pass" : ""));
}

std::string list_of_problems() {
  std::string text;
  for (const problem::BuiltIn& one : problem::built_in_problems())
    text += fmt::format("  {:<16} {}\n", one.name, file_of(std::string(one.name)).title);
  return text;
}

std::string text_of_problem(const std::string& problem) {
  const File file = file_of(problem);
  const Model model = problem::model_of(file, {});
  std::string text = fmt::format("{}: {}\n", model.name, model.title);
  for (const std::string& line : problem::written_out(model)) text += fmt::format("  {}\n", line);
  text += fmt::format("  {} axes; by default {} cells in {}, {}\n", axes_text(file.axes),
                      grid::text_of(Extents(model.cells, model.axes)), name_of(model.precision),
                      stop_text(model));
  if (model.parameters.empty()) return text;
  text += "  parameters (--set NAME=VALUE):\n";
  for (const problem::ModelParameter& parameter : model.parameters)
    text += fmt::format("    {:<9} {:<8} {}\n", parameter.name,
                        fmt::format("{:g}", parameter.value), parameter.help);
  return text;
}

std::string named_problem(const std::vector<std::string>& words) {
  if (words.empty() || words[0] != "solve") return "";
  for (const std::string& word : words) {
    if (word.starts_with("-")) continue;
    for (const problem::BuiltIn& one : problem::built_in_problems())
      if (one.name == word) return word;
    if (!problem::is_path(word)) continue;
    try {
      text_of_problem(word);
      return word;
    } catch (const Error&) {  // another path, or mistakes that solve reports
    }
  }
  return "";
}

}  // namespace halocline::cli
