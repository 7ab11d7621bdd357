// SPDX-License-Identifier: Apache-2.0
#include "solver/run_files/outputs.hpp"

#include <filesystem>
#include <limits>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "comm/collectives.hpp"
#include "files/hdf5.hpp"
#include "files/npy.hpp"
#include "files/npy_header.hpp"
#include "files/result_files.hpp"
#include "solver/run_files/checkpoints.hpp"
#include "solver/run_files/output_kind.hpp"
#include "text/refuse.hpp"

namespace halocline::solver {
namespace {

void check_series_name(const std::optional<std::string>& path) {
  if (path && std::filesystem::path(*path).extension() != ".csv")
    refuse(
        "the file '{}' of option 'series' does not end in .csv, and is written "
        "in no other form",
        *path);
}

/// A run with a tolerance has at least the files of its start and its end.
std::optional<Numbers> numbers_of(const Case& the_case) {
  if (!the_case.output_every) return std::nullopt;
  const std::int64_t every = *the_case.output_every, sweeps = the_case.sweeps;
  const std::int64_t all = sweeps / every + 1 + (sweeps % every > 0 ? 1 : 0);
  return Numbers{.last = sweeps,
                 .fewest = the_case.tolerance ? std::min<std::int64_t>(2, all) : all};
}

/// Whether one file has the fields of all times.
bool has_all_times(const Case& the_case, const Case::Output& output) {
  return the_case.output_every && kind_of(output.path) == OutputKind::vtkhdf;
}

/// Returns the bytes of `count` fields at one time, or more than any disk has if they cannot be
/// counted.
std::int64_t bytes_of_fields(const Case& the_case, double count) {
  double bytes = count * static_cast<double>(the_case.element_bytes());
  for (int axis = 0; axis < the_case.grid.cells.axes(); ++axis)
    bytes *= static_cast<double>(the_case.grid.cells[axis]);
  bytes += static_cast<double>(npy_header_bytes);
  return bytes < 9e18 ? static_cast<std::int64_t>(bytes) : std::numeric_limits<std::int64_t>::max();
}

/// Returns the bytes of a file, as far as they can be predicted.
std::int64_t bytes_of(const Case& the_case, const Case::Output& output) {
  if (kind_of(output.path) == OutputKind::png) return 0;
  const std::int64_t times =
      has_all_times(the_case, output) ? numbers_of(the_case)->fewest : std::int64_t{1};
  return bytes_of_fields(the_case,
                         static_cast<double>(times) * static_cast<double>(output.fields.size()));
}

/// The newest two and the next one are there at once.
std::int64_t bytes_of_checkpoints(const Case& the_case) {
  const auto fields = static_cast<double>(the_case.model->fields.size());
  return bytes_of_fields(the_case, the_case.restart ? fields : 3 * fields);
}

/// Throws usage for names of no kind, unavailable for a file that needs HDF5 where there is none.
void check_kinds(const Case& the_case) {
  for (const Case::Output& output : the_case.outputs)
    if (kind_of(output.path) == OutputKind::vtkhdf)
      if (const auto why = files::hdf5::unavailable())
        throw Error(
            ErrorKind::unavailable,
            fmt::format("cannot write '{}': {}; .vti files need no library", output.path, *why));
}

/// Throws usage for arrays of other shapes, and for a pipe as the place of one.
void check_arrays(const Case& the_case) {
  for (const Case::Output& output : the_case.outputs) {
    const bool is_one_file = !the_case.output_every || has_all_times(the_case, output);
    if (kind_of(output.path) != OutputKind::png && is_one_file)
      files::require_seekable(output.path);
  }
  // The values of a restarted run are in the checkpoint.
  if (!the_case.restart)
    check_start_files(*the_case.model, the_case.initial, the_case.coefficient_arrays);
}

}  // namespace

void check_start_files(const problem::Model& model,
                       const std::vector<std::optional<std::string>>& initial,
                       const Case::OwnArrays& own_coefficients) {
  std::vector<std::optional<std::string>> read = initial;
  for (std::size_t i = 0; i < model.coefficients.size(); ++i)
    if (!own_coefficients.contains(i)) read.push_back(model.coefficients[i].values.file);
  for (const std::optional<std::string>& path : read)
    if (path) files::check_npy(*path, Extents(model.cells, model.axes), model.element_bytes());
}

void check_files(const Communicator& communicator, const SolveOptions& options,
                 const Case& the_case) {
  comm::together(communicator, [&] {
    check_kinds(the_case);
    check_series_name(options.series);
    if (communicator.rank() != 0) return;
    RunFiles all;
    bool has_array = false;
    for (const Case::Output& output : the_case.outputs) {
      const OutputKind kind = kind_of(output.path);
      const bool has_times = has_all_times(the_case, output);
      has_array |= kind == OutputKind::npy;
      all.add_result("option 'output'", output.path, bytes_of(the_case, output),
                     has_times ? std::nullopt : numbers_of(the_case));
      if (kind == OutputKind::vti && the_case.output_every)
        all.add_result("option 'output' (its list)", list_of_numbered(output.path));
    }
    if (options.checkpoint)
      all.add_result("option 'checkpoint'", checkpoint_path(*options.checkpoint, 0),
                     bytes_of_checkpoints(the_case));
    all.add_result("option 'series'", options.series);
    all.add_result("option 'trace'", options.trace);
    // A run may start from the array of an earlier one and replace it: that one stays until the new
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
    : grid_(grid), case_(the_case) {
  for (const Case::Output& output : the_case.outputs)
    outputs_.push_back({make_output_file(
        {.communicator = communicator, .grid = grid, .the_case = the_case}, output)});
}

void Outputs::write_some(const Level& level, std::int64_t sweeps, Attempts& attempts) {
  if (outputs_.empty()) return;
  Level seen = level;
  // Others are written from any memory.
  for (const Case::Output& output : case_.outputs)
    if (kind_of(output.path) == OutputKind::png)
      for (const std::size_t field : output.fields) seen[field] = seen_by_host(level[field], grid_);
  for (Output& output : outputs_) {
    if (output.has_failed) continue;
    output.has_failed = true;
    attempts.attempt([&] {
      try {
        output.file->write(seen, sweeps, Otherwise::fail);
      } catch (const Error& error) {
        // The name was right when the run began.
        throw error.kind() == ErrorKind::usage ? Error(ErrorKind::resource, error.what()) : error;
      }
      output.has_failed = false;
      output.last_written = sweeps;
    });
  }
}

void Outputs::write_last(const Level& result_level, std::int64_t sweeps, Attempts& attempts) {
  for (Output& output : outputs_)
    if (output.last_written != sweeps)
      attempts.attempt(
          [&] { output.file->write(result_level, sweeps, Otherwise::use_working_folder); });
}

void Outputs::report(SolveResult& result, Notes& notes) const {
  for (const Output& output : outputs_) output.file->report(result, notes);
}

}  // namespace halocline::solver
