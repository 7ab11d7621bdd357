// SPDX-License-Identifier: Apache-2.0
#include "solver/case.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <halocline/error.hpp>

#include "base/checked.hpp"
#include "base/text/numbers.hpp"
#include "base/text/words.hpp"
#include "grid/halo_regions.hpp"
#include "machine/cores.hpp"
#include "solver/run_files/checkpoints.hpp"
#include "solver/run_files/output_kind.hpp"
#include "solver/run_files/restart.hpp"
#include "solver/target.hpp"
#include "stencil/partial_norms.hpp"
#include "text/near_miss.hpp"
#include "text/refuse.hpp"

namespace halocline::solver {
namespace {

using problem::Model;

/// The cells that the options ask for; none: the problem's.
Extents cells_of(const SolveOptions& options, int ranks) {
  if (options.cells_per_rank.axes() == 0) return options.cells;
  if (options.cells.axes() > 0)
    refuse("give the cells of the whole grid or those of one rank, not both");
  const Extents& each = options.cells_per_rank;
  // For parts of a given size, splitting only the slowest axis causes the least halo traffic.
  Int3 parts{1, 1, 1};
  parts[each.axes() - 1] = ranks;
  if (options.process_grid.axes() > 0) parts = options.process_grid.values();
  Int3 all;
  for (int axis = 0; axis < each.axes(); ++axis)
    all[axis] = checked_multiply(each[axis], parts[axis], "cells");
  return Extents(all, each.axes());
}

problem::Choices choices_of(const SolveOptions& options, const Extents& cells) {
  problem::Choices choices{.axes = cells.axes(),
                           .cells = {},
                           .parameters = {},
                           .precision = options.precision,
                           .seed = options.seed};
  for (int axis = 0; axis < cells.axes(); ++axis) choices.cells.push_back(cells[axis]);
  for (const auto& [name, value] : options.parameters) choices.parameters[name] = value;
  if (!choices.precision && !options.arrays.empty())
    choices.precision = options.arrays[0].cells.shape().element_bytes == sizeof(float)
                            ? Precision::f32
                            : Precision::f64;
  return choices;
}

Norm norm_of(const SolveOptions& options, const Model& model) {
  if (options.norm) return *options.norm;
  // A tolerance needs a norm, also for problems without one.
  return options.tolerance && model.norm == Norm::none ? Norm::max : model.norm;
}

std::optional<double> tolerance_of(const SolveOptions& options, const Model& model, Norm norm) {
  if (options.tolerance && norm == Norm::none)
    refuse("a tolerance needs a norm, but the norm is 'none'; choose max or l2");
  if (options.tolerance && !(*options.tolerance >= 0))
    refuse("tolerance {} is invalid; use 0 or more", *options.tolerance);
  if (norm == Norm::none) return std::nullopt;
  return options.tolerance ? options.tolerance : model.tolerance;
}

/// The cells of a brick of the fields; none: they are in rows.
Extents brick_of(const std::string& layout, int axes) {
  constexpr std::string_view given = "brick:";
  if (layout == "auto" || layout == "array") return {};
  if (layout == "brick")
    return axes == 1 ? Extents{64} : axes == 2 ? Extents{8, 8} : Extents{8, 8, 8};
  if (!layout.starts_with(given))
    refuse("there is no layout '{}'; there are: auto, array, brick, brick:{}", layout,
           axes == 1   ? "64"
           : axes == 2 ? "32x8"
                       : "32x4x4");
  Int3 cells{1, 1, 1};
  int read = 0;
  for (std::string_view rest = std::string_view(layout).substr(given.size());; ++read) {
    const std::size_t end = std::min(rest.find('x'), rest.size());
    const auto value = read_whole<std::int64_t>(
        rest.substr(0, end), fmt::format("layout '{}': size", layout), 1, std::int64_t{1} << 16);
    if (read == 3 || (value & (value - 1)) != 0)
      refuse("layout '{}' names no brick; write powers of 2, one per axis, such as {}", layout,
             "brick:32x4x4");
    cells[read] = value;
    if (end == rest.size()) break;
    rest.remove_prefix(end + 1);
  }
  if (++read != axes)
    refuse("layout '{}' gives {}, but the grid has {}", layout, counted(read, "size"),
           counted(axes, "axis"));
  return Extents(cells, axes);
}

/// Refuses options that are wrong for every problem.
void check_numbers(const SolveOptions& options) {
  const auto require = [](const auto& value, std::int64_t least, const std::string& text) {
    if (value && *value < least) refuse(fmt::runtime(text), *value);
  };
  require(options.verify_every, 1,
          "cannot verify every {} sweeps; use at least 1 for option 'verify_every'");
  require(options.output_every, 1,
          "cannot write every {} sweeps; use at least 1 for option 'output_every'");
  require(options.series_every, 1,
          "cannot make a row every {} sweeps; use at least 1 for option 'series_every'");
  require(options.sweeps, 0, "cannot run {} sweeps; use 0 or more");
  require(options.norm_every, 1, "cannot compute a norm every {} sweeps; use at least 1");
  require(std::optional(options.halo_depth), 1, "halo depth {} is invalid; use at least 1");
  if (options.sweeps_per_pass < 0 || options.sweeps_per_pass > stencil::most_sweeps_of_pass)
    refuse("cannot do {} sweeps in one pass; use auto, or 1 to {}", options.sweeps_per_pass,
           stencil::most_sweeps_of_pass);
  if (options.tuning_seconds &&
      !(*options.tuning_seconds >= 0 && std::isfinite(*options.tuning_seconds)))
    refuse("cannot spend {} seconds on tuning; use 0 or more", *options.tuning_seconds);
  if (options.threads > machine::most_threads)
    refuse("{} threads per rank are too many; use at most {}", options.threads,
           machine::most_threads);
  require(std::optional(options.threads), 0, "cannot run {} threads per rank; use 1 or more");
}

/// Returns the index of a name, or the number of all.
template <class Named>
std::size_t index_in(const std::vector<Named>& all, const std::string& name) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Named& one) { return one.name == name; });
  return static_cast<std::size_t>(found - all.begin());
}

std::size_t field_named(const Model& model, const std::string& name, std::string_view option) {
  const std::size_t index = index_in(model.fields, name);
  if (index < model.fields.size()) return index;
  const std::vector<std::string> names = names_of(model.fields);
  // FIELD=FILE, or a file.
  const bool may_be_file = option == "output" || option == "initial";
  refuse("option '{}' names a field '{}', but {} has: {}{}{}", option, name, model.name,
         fmt::join(names, ", "), do_you_mean(name, names),
         may_be_file ? "; a file with = in its name is './NAME'" : "");
}

std::size_t field_or_first(const Model& model, const std::string& name, std::string_view option) {
  return name.empty() ? 0 : field_named(model, name, option);
}

/// The fields of an output that names none.
std::vector<std::size_t> fields_for(const std::string& path, const Model& model) {
  if (!has_all_fields(kind_of(path))) return {0};
  std::vector<std::size_t> all(model.fields.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

/// Files that options name come before those of the problem.
void name_files(const SolveOptions& options, Case& the_case) {
  const Model& model = *the_case.model;
  for (const problem::ModelField& field : model.fields)
    the_case.initial.push_back(field.initial.file);
  if (options.initial) the_case.initial[0] = options.initial;
  for (const auto& [name, path] : options.field_initials)
    the_case.initial[field_named(model, name, "initial")] = path;
  if (options.output)
    the_case.outputs.push_back({fields_for(*options.output, model), *options.output});
  for (const auto& [name, path] : options.field_outputs)
    the_case.outputs.push_back(
        {name.empty() ? fields_for(path, model) : std::vector{field_named(model, name, "output")},
         path});
}

void check_array(const SolveOptions& options, const SolveOptions::Array& array,
                 const Model& model) {
  const FieldShape& shape = array.cells.shape();
  if (shape.components != 1)
    refuse("array '{}' has {} components; wrap each by a field of its own", array.name,
           shape.components);
  if (!shape.may_be_real || shape.element_bytes != model.element_bytes())
    refuse("array '{}' has elements of {}, but the run is in {}, of {}", array.name,
           shape.may_be_real ? counted(shape.element_bytes, "byte")
                             : std::string("another type than float or double"),
           name_of(model.precision), counted(model.element_bytes(), "byte"));
  const auto is_initial = [&](const auto& file) { return file.first == array.name; };
  if (array.use != SolveOptions::Array::Use::result &&
      ((options.initial && array.name == model.fields[0].name) ||
       std::any_of(options.field_initials.begin(), options.field_initials.end(), is_initial)))
    refuse(
        "'{}' starts from an array of the program or from the file of option "
        "'initial'; give one",
        array.name);
}

void name_arrays(const SolveOptions& options, Case& the_case) {
  using Use = SolveOptions::Array::Use;
  if (options.arrays.empty()) return;
  const Model& model = *the_case.model;
  if (options.process_grid.axes() == 0)
    refuse("arrays of the program need the grid that they are on; give it to solve()");
  const auto add = [](Case::OwnArrays& arrays, std::size_t index,
                      const SolveOptions::Array& array) {
    if (!arrays.emplace(index, array.cells).second)
      refuse("there are two arrays for '{}'; give one", array.name);
  };
  for (const SolveOptions::Array& array : options.arrays) {
    const std::size_t field = index_in(model.fields, array.name);
    const std::size_t coefficient = index_in(model.coefficients, array.name);
    if (field == model.fields.size() && coefficient == model.coefficients.size())
      refuse("there is an array for '{}', but {} has the fields {}{}{}", array.name, model.name,
             fmt::join(names_of(model.fields), ", "),
             model.coefficients.empty() ? "" : " and the coefficients ",
             fmt::join(names_of(model.coefficients), ", "));
    check_array(options, array, model);
    if (field == model.fields.size()) {
      add(the_case.coefficient_arrays, coefficient, array);
      continue;
    }
    if (array.use != Use::result) {
      add(the_case.start_arrays, field, array);
      the_case.initial[field].reset();
    }
    if (array.use != Use::start) add(the_case.result_arrays, field, array);
  }
  // Rank 0 computes these runs alone, and has a part of the arrays.
  if (the_case.start_arrays.empty() && the_case.coefficient_arrays.empty()) return;
  for (const auto& [extra, option] :
       {std::pair(options.verify, "verify"), std::pair(options.baseline, "baseline")})
    if (extra == SolveOptions::Extra::yes)
      refuse("option '{}' cannot start from arrays of the program; leave it out", option);
}

/// Refuses options without those that they are about.
void check_needs(const SolveOptions& options) {
  if (options.output_every && !options.output && options.field_outputs.empty())
    refuse("option 'output_every' needs a file to write; name one by option 'output'");
  if (!options.sums.empty() || !options.probes.empty()) return;
  for (const auto& [option, is_given] :
       {std::pair("series", options.series.has_value()),
        std::pair("series_every", options.series_every.has_value())})
    if (is_given)
      refuse("option '{}' needs values; name them by option 'sums' or option 'probes'", option);
}

std::string cells_text(const std::vector<std::int64_t>& cell) {
  return fmt::format("({})", fmt::join(cell, ", "));
}

Case::Probe probe_of(const Model& model, const SolveOptions::Probe& probe) {
  const std::vector<std::int64_t>& cell = probe.cell;
  std::string domain = std::to_string(model.cells.x),
              indices = fmt::format("x from 0 to {}", model.cells.x - 1);
  for (int axis = 1; axis < model.axes; ++axis) {
    domain += fmt::format("x{}", model.cells[axis]);
    indices += fmt::format(", {} from 0 to {}", "xyz"[axis], model.cells[axis] - 1);
  }
  if (static_cast<int>(cell.size()) != model.axes)
    refuse("option 'probes' names the cell {}, but the domain of {} cells has {}", cells_text(cell),
           domain, counted(model.axes, "axis"));
  Case::Probe result{.field = field_or_first(model, probe.field, "probes"), .cell = {}};
  for (int axis = 0; axis < model.axes; ++axis) {
    result.cell[axis] = cell[static_cast<std::size_t>(axis)];
    if (result.cell[axis] < 0 || result.cell[axis] >= model.cells[axis])
      refuse(
          "option 'probes' names the cell {}, which lies outside the domain of {} "
          "cells; use {}",
          cells_text(cell), domain, indices);
  }
  return result;
}

/// Sets the numbered outputs, sums, probes and spot checks of a run.
void name_views(const SolveOptions& options, Case& the_case) {
  check_needs(options);
  const Model& model = *the_case.model;
  the_case.output_every = options.output_every;
  for (const std::string& name : options.sums)
    the_case.sums.push_back(field_named(model, name, "sums"));
  for (const SolveOptions::Probe& probe : options.probes)
    the_case.probes.push_back(probe_of(model, probe));
  // A hundred rows, and one more of the end.
  the_case.series_every = options.series_every.value_or(
      options.output_every.value_or(std::max<std::int64_t>(1, the_case.sweeps / 100)));
  for (const auto& [name, min, max] : options.ranges) {
    const std::size_t field = field_or_first(model, name, "ranges");
    if (!(std::isfinite(min) && std::isfinite(max) && min < max))
      refuse(
          "the range from {} to {} of option 'ranges' is empty; give the smaller "
          "number first",
          min, max);
    const auto draws = [&](const auto& output) {
      return output.fields[0] == field && output.path.ends_with(".png");
    };
    if (std::none_of(the_case.outputs.begin(), the_case.outputs.end(), draws))
      refuse(
          "option 'ranges' is about pictures of '{}', but none is written; name one "
          "by option 'output'",
          model.fields[field].name);
    if (!the_case.ranges.emplace(field, std::pair(min, max)).second)
      refuse("option 'ranges' has two ranges for '{}'; give one", model.fields[field].name);
  }
}

}  // namespace

HaloWidths Case::halo(std::int64_t depth) const {
  HaloWidths widths = model->reach();
  for (int axis = 0; axis < model->axes; ++axis) {
    widths.lower[axis] *= depth;
    widths.upper[axis] *= depth;
  }
  return widths;
}

Neighbours Case::neighbours() const {
  return halo_depth > 1 || model->reads_diagonally() ? Neighbours::all : Neighbours::faces;
}

std::vector<std::size_t> Case::exchanged_fields() const {
  std::vector<std::size_t> all;
  for (std::size_t f = 0; f < model->fields.size(); ++f)
    if (halo_depth > 1 || model->fields[f].reach.has_neighbours()) all.push_back(f);
  // An exchange has at least one field, if of no width.
  if (all.empty()) all.push_back(0);
  return all;
}

Case make_case(const SolveOptions& options, int ranks) {
  if (!options.restart) return make_case(options, ranks, problem::find_problem(options.problem));
  const auto restart = std::make_shared<const Restart>(find_restart(*options.restart));
  Case the_case = make_case(continued(options, *restart), ranks, restart->problem);
  the_case.restart = restart;
  return the_case;
}

Case make_case(const SolveOptions& options, int ranks, const problem::ProblemText& problem) {
  check_numbers(options);
  check_checkpoint_options(options);
  auto model =
      std::make_shared<const Model>(model_of(problem::read_text(problem.name, problem.text),
                                             choices_of(options, cells_of(options, ranks))));
  const Extents cells(model->cells, model->axes);
  const Norm norm = norm_of(options, *model);
  Case result{
      .model = model,
      .norm = norm,
      .norm_every = options.norm_every.value_or(1),
      .tolerance = tolerance_of(options, *model, norm),
      .least_norm = model->depends_on_time() ? std::numeric_limits<double>::denorm_min() : 0,
      .sweeps = options.sweeps.value_or(model->sweeps),
      .halo_depth = options.halo_depth,
      .brick = brick_of(options.layout, model->axes),
      .grid = {.cells = cells, .periodic = model->periodic, .process_grid = options.process_grid},
      .initial = {},
      .outputs = {}};
  name_files(options, result);
  name_arrays(options, result);
  name_views(options, result);
  result.grid.expected_halo = result.halo();
  if (options.cells_per_rank.axes() > 0 && options.process_grid.axes() == 0) {
    Int3 parts{1, 1, 1};
    parts[cells.axes() - 1] = ranks;
    result.grid.process_grid = Extents(parts, cells.axes());
  }
  const Grid grid(0, ranks, result.grid);
  // Even if no rank sends such a halo: its cells would only take memory, or exceed 64 bits.
  const std::int64_t longest = std::max({cells.values().x, cells.values().y, cells.values().z});
  if (options.halo_depth > longest)
    refuse("halo depth {} is more than the {} of the longest axis; use at most {}",
           options.halo_depth, counted(longest, "cell"), longest);
  grid::check_widths(grid, result.halo());
  return result;
}

namespace {

/// Whether an exchange should be for two passes of so many sweeps: it saves the time that exchanges
/// take however few bytes they move, and computes half of the halo's layers twice. On two H200
/// star7 in fp32 on 256^3 cells, split along z, ran at 973 GLUP/s by 3 sweeps, and at 858 with an
/// exchange for each pass; 512^3 cells on each at 1934 and 1931. Along other axes strips and tiles
/// end beyond the part: 512^3 cells on each in fp64 ran at 755 GLUP/s split along y, and at
/// 838 by slower kernels with an exchange for each pass.
bool shares_exchanges(const Case& the_case, std::int64_t sweeps, int ranks) {
  constexpr std::int64_t least_halos = 16;
  const Extents parts = Grid(0, ranks, the_case.grid).process_grid();
  const HaloWidths halo = the_case.halo(2 * sweeps);
  const int last = parts.axes() - 1;
  if (ranks == 1 || parts[last] != ranks) return false;
  for (int axis = 0; axis < parts.axes(); ++axis) {
    const std::int64_t width = std::max(halo.lower[axis], halo.upper[axis]);
    const std::int64_t least = axis == last ? least_halos * width : width;
    if (the_case.grid.cells[axis] / parts[axis] < least) return false;
  }
  return true;
}

}  // namespace

Int3 largest_part(const Case& the_case, int ranks) {
  return Grid(0, ranks, the_case.grid).owned().extent();
}

void allow_passes(Case& the_case, std::int64_t sweeps, int ranks) {
  the_case.sweeps_per_pass = sweeps;
  const auto& periodic = the_case.model->periodic;
  if (ranks == 1 && std::count(periodic.begin(), periodic.end(), true) == 0) return;
  const bool is_open = the_case.halo_depth == 1;
  the_case.halo_depth = std::max(the_case.halo_depth, sweeps);
  the_case.grid.expected_halo = the_case.halo();
  if (!is_open || !shares_exchanges(the_case, sweeps, ranks)) return;
  the_case.halo_depth = 2 * sweeps;
  the_case.grid.expected_halo = the_case.halo();
}

void allow_passes(Case& the_case, std::int64_t sweeps, const Communicator& communicator) {
  allow_passes(the_case, sweeps, communicator.size());
  grid::check_widths(Grid(communicator, the_case.grid), the_case.halo());
}

std::optional<std::string> no_passes_because(const Case& the_case,
                                             const stencil::Backend& backend) {
  if (the_case.brick.axes() > 0) return "the fields lie in bricks";
  return backend.cannot_pass_because(*the_case.model);
}

double redundant_updates(const Case& the_case, const Grid& grid) {
  const Int3 owned = grid.owned().extent();
  // With r further sweeps, a region has (x + r * reach of x) * (y + ...) * ... cells: a polynomial
  // in r.
  std::array<double, 4> region{1, 0, 0, 0};
  const HaloWidths reach = the_case.halo(1);
  for (int axis = 0; axis < grid.axes(); ++axis) {
    double sides = 0;
    for (const int side : {-1, 1}) {
      Direction direction;
      direction[axis] = side;
      if (grid.neighbour(grid.rank(), direction) >= 0)
        sides += static_cast<double>((side < 0 ? reach.lower : reach.upper)[axis]);
    }
    for (std::size_t power = 3; power > 0; --power)
      region[power] = region[power] * static_cast<double>(owned[axis]) + region[power - 1] * sides;
    region[0] *= static_cast<double>(owned[axis]);
  }
  // Sums of r^0 to r^3 over r from 0 to K - 1, for a depth may have as many cells as a grid.
  const auto k = static_cast<double>(the_case.halo_depth);
  const double ones = k * (k - 1) / 2;
  const std::array<double, 4> sums{k, ones, ones * (2 * k - 1) / 3, ones * ones};
  double updates = 0;
  for (std::size_t power = 0; power < 4; ++power) updates += region[power] * sums[power];
  return updates / (region[0] * k) - 1;
}

}  // namespace halocline::solver

namespace halocline {

void check(const SolveOptions& options, int ranks) {
  solver::make_case(options, ranks);
  solver::check_target(options);
}

}  // namespace halocline
