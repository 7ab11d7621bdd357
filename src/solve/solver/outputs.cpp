// SPDX-License-Identifier: Apache-2.0
#include "solver/outputs.hpp"

#include <filesystem>
#include <limits>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/result_files.hpp"
#include "base/words.hpp"
#include "comm/collectives.hpp"
#include "files/npy.hpp"
#include "files/npy_header.hpp"
#include "files/picture.hpp"
#include "grid/text.hpp"

namespace halocline::solver {
namespace {

enum class OutputKind { npy, png };

OutputKind kind_of(const std::string& path) {
  const std::string extension = std::filesystem::path(path).extension();
  if (extension == ".npy") return OutputKind::npy;
  if (extension == ".png") return OutputKind::png;
  throw Error(ErrorKind::usage,
              fmt::format("the output '{}' ends neither in .npy (the whole array) nor in .png (a "
                          "picture)",
                          path));
}

void check_series_name(const std::optional<std::string>& path) {
  if (path && std::filesystem::path(*path).extension() != ".csv")
    throw Error(ErrorKind::usage,
                fmt::format("the file '{}' of option 'series' does not end in .csv, and is written "
                            "in no other form",
                            *path));
}

/// The bytes of the file, or more than any disk has if that cannot be counted.
std::int64_t bytes_of_npy(const Case& the_case) {
  double bytes = static_cast<double>(the_case.element_bytes());
  for (int axis = 0; axis < the_case.grid.cells.axes(); ++axis)
    bytes *= static_cast<double>(the_case.grid.cells[axis]);
  bytes += static_cast<double>(npy_header_bytes);
  return bytes < 9e18 ? static_cast<std::int64_t>(bytes) : std::numeric_limits<std::int64_t>::max();
}

/// A run with a tolerance has at least the files of its start and its end.
std::optional<Numbers> numbers_of(const Case& the_case) {
  if (!the_case.output_every) return std::nullopt;
  const std::int64_t every = *the_case.output_every, sweeps = the_case.sweeps;
  const std::int64_t all = sweeps / every + 1 + (sweeps % every > 0 ? 1 : 0);
  return Numbers{.last = sweeps,
                 .fewest = the_case.tolerance ? std::min<std::int64_t>(2, all) : all};
}

/// Throws usage for arrays of other shapes, and for a pipe as the place of one.
void check_arrays(const Case& the_case) {
  for (const auto& [field, path] : the_case.outputs)
    if (kind_of(path) == OutputKind::npy && !the_case.output_every) files::require_seekable(path);
  std::vector<std::optional<std::string>> read = the_case.initial;
  for (std::size_t i = 0; i < the_case.model->coefficients.size(); ++i)
    if (!the_case.coefficient_arrays.contains(i))
      read.push_back(the_case.model->coefficients[i].values.file);
  for (const std::optional<std::string>& path : read)
    if (path) files::check_npy(*path, the_case.grid.cells, the_case.element_bytes());
}

}  // namespace

void check_files(const Communicator& communicator, const SolveOptions& options,
                 const Case& the_case) {
  comm::together(communicator, [&] {
    for (const auto& [field, path] : the_case.outputs) kind_of(path);
    check_series_name(options.series);
    if (communicator.rank() != 0) return;
    RunFiles all;
    bool has_array = false;
    for (const auto& [field, path] : the_case.outputs) {
      const bool is_array = kind_of(path) == OutputKind::npy;
      has_array |= is_array;
      all.add_result("option 'output'", path, is_array ? bytes_of_npy(the_case) : 0,
                     numbers_of(the_case));
    }
    all.add_result("option 'series'", options.series);
    all.add_result("option 'trace'", options.trace);
    // A run may go on from the array of an earlier one and replace it: that one stays until the new
    // one is complete.
    for (const std::optional<std::string>& path : the_case.initial)
      all.add_used("option 'initial'", path, has_array ? "option 'output'" : "");
    for (const problem::ModelCoefficient& coefficient : the_case.model->coefficients)
      all.add_used("a coefficient of the problem", coefficient.values.file);
    if (options.problem.text().empty() && problem::is_path(options.problem.name()))
      all.add_used("the problem", options.problem.name());
    all.add_used("option 'tuning_file'", options.tuning_file);
    all.add_used("option 'proofs'", options.proofs);
    check(all);
    check_arrays(the_case);
  });
}

Outputs::Outputs(const Communicator& communicator, const Grid& grid, const Case& the_case)
    : communicator_(communicator), grid_(grid), case_(the_case) {
  for (const auto& [field, path] : the_case.outputs)
    outputs_.push_back(
        {.field = field, .path = path, .is_picture = kind_of(path) == OutputKind::png});
}

void Outputs::write_some(const Level& level, std::int64_t sweeps, Attempts& attempts) {
  for (Output& output : outputs_) {
    if (output.has_failed) continue;
    output.has_failed = true;
    attempts.attempt([&] {
      try {
        write(output, seen_by_host(level[output.field], grid_), sweeps, Otherwise::fail);
      } catch (const Error& error) {
        // The name was right when the run began.
        throw error.kind() == ErrorKind::usage ? Error(ErrorKind::resource, error.what()) : error;
      }
      output.has_failed = false;
    });
  }
}

void Outputs::write_last(const Level& answer, std::int64_t sweeps, Attempts& attempts) {
  for (Output& output : outputs_)
    if (output.last_written != sweeps)
      attempts.attempt(
          [&] { write(output, answer[output.field], sweeps, Otherwise::use_working_folder); });
}

void Outputs::write(Output& output, const FieldStorage& field, std::int64_t sweeps,
                    Otherwise otherwise) {
  const std::string path = case_.output_every ? numbered(output.path, sweeps) : output.path;
  if (!output.is_picture) {
    files::write_npy(communicator_, grid_, field, path, otherwise);
  } else {
    const problem::Model& model = *case_.model;
    const auto title_of = [&](std::int64_t number) {
      return fmt::format("{}{} {}, {} sweeps", model.name,
                         model.fields.size() > 1 ? " " + model.fields[output.field].name : "",
                         grid::text_of(grid_.cells()), number);
    };
    files::Look look{.at_least = output.range};
    if (const auto fixed = case_.ranges.find(output.field); fixed != case_.ranges.end())
      look.fixed = ValueRange{fixed->second.first, fixed->second.second};
    // Films need pictures of one size: room for labels such as -1.235e-05.
    if (case_.output_every)
      look.room = {.labels = 10, .title = static_cast<int>(title_of(case_.sweeps).size())};
    output.range =
        files::write_picture(communicator_, grid_, field, path, title_of(sweeps), otherwise, look);
    if (!output.last_written) output.first_range = output.range;
  }
  output.last_written = sweeps;
}

void Outputs::note_scales(Notes& notes) const {
  for (const Output& output : outputs_) {
    const auto &first = output.first_range, &last = output.range;
    std::string note;
    if (first && last && (first->min != last->min || first->max != last->max))
      note = fmt::format(
          "the colours of '{}' stand for {:g} to {:g} in the first picture and for {:g} to {:g} in "
          "the last: option 'ranges' set to '{}={:g},{:g}' gives all of them one scale",
          output.path, first->min, first->max, last->min, last->max,
          case_.model->fields[output.field].name, last->min, last->max);
    note = comm::broadcast(communicator_, note, 0);
    if (!note.empty()) notes.add(note);
  }
}

}  // namespace halocline::solver
