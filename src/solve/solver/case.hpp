// SPDX-License-Identifier: Apache-2.0
#pragma once
// A problem with all choices that do not depend on the machine: pure data, so that programs can
// check it before they start ranks.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <halocline/communicator.hpp>
#include <halocline/solver.hpp>

#include "problem/catalogue.hpp"
#include "problem/model.hpp"

namespace halocline::stencil {
class Backend;
}

namespace halocline::solver {

struct Restart;

struct Case {
  std::shared_ptr<const problem::Model> model;
  Norm norm;
  std::int64_t norm_every;
  std::optional<double> tolerance;
  /// Smaller norms do not end the run: above 0 where something depends on time, since no change at
  /// all may then mean that nothing has begun yet.
  double least_norm;
  /// Whether norms end the run. Those of a trial do not: its numbers may well diverge, and sweeps
  /// after the end do nothing.
  bool may_stop = true;
  std::int64_t sweeps;
  std::int64_t halo_depth;           ///< sweeps per exchange
  std::int64_t sweeps_per_pass = 1;  ///< the most of a pass over memory
  Extents brick = {};                ///< cells of a brick of the fields; empty: they are in rows
  GridOptions grid;
  /// The file of each field's start values, where they come from one.
  std::vector<std::optional<std::string>> initial;
  /// The program's own arrays, by the number of the field or coefficient.
  using OwnArrays = std::map<std::size_t, FieldStorage>;
  OwnArrays start_arrays = {}, result_arrays = {}, coefficient_arrays = {};
  /// A file to write, with the numbers of its fields.
  struct Output {
    std::vector<std::size_t> fields;
    std::string path;
  };
  std::vector<Output> outputs;
  std::optional<std::int64_t> output_every = {};
  /// The fixed range of colours of a field's pictures: (least, largest).
  std::map<std::size_t, std::pair<double, double>> ranges = {};
  struct Probe {
    std::size_t field;
    Int3 cell;
  };
  std::vector<std::size_t> sums = {};  ///< fields
  std::vector<Probe> probes = {};
  std::int64_t series_every = 1;
  /// The checkpoint that fields, and coefficients from files or arrays, come from, if there is one.
  std::shared_ptr<const Restart> restart = {};

  Precision precision() const { return model->precision; }
  std::int64_t element_bytes() const { return model->element_bytes(); }
  std::int64_t cells() const { return model->cells.x * model->cells.y * model->cells.z; }
  /// Levels of time that are kept: the model's. By passes of several sweeps, one more where a field
  /// follows another: a pass writes its last two, and reads two.
  std::size_t levels() const {
    const bool is_followed = model->levels() > 2;
    return model->levels() + (sweeps_per_pass > 1 && is_followed ? 1 : 0);
  }
  /// Halo of fields and coefficients: `depth` times the reach of a sweep.
  HaloWidths halo(std::int64_t depth) const;
  HaloWidths halo() const { return halo(halo_depth); }
  /// Passes of that many sweeps that an exchange fills halos for.
  std::int64_t passes_per_exchange(std::int64_t in_pass) const {
    return std::max<std::int64_t>(halo_depth / in_pass, 1);
  }
  /// Whether an exchange fills halos across edges and corners, too.
  Neighbours neighbours() const;
  /// The fields that an exchange moves: those of which a sweep reads neighbours; for deep halos
  /// all.
  std::vector<std::size_t> exchanged_fields() const;
  double dt() const { return model->dt.value_or(0); }
  /// Returns t of the level that a sweep reads.
  double time_of(std::int64_t sweep) const { return static_cast<double>(sweep) * dt(); }
  bool has_series() const { return !sums.empty() || !probes.empty(); }
  bool converges_with(double value) const {
    return tolerance && value <= *tolerance && value >= least_norm;
  }
  bool wants_norm(std::int64_t sweep) const {
    return norm != Norm::none && (sweep % norm_every == 0 || sweep == sweeps - 1);
  }
};

/// Makes the case of `options` on `ranks` ranks, of the problem that they name. Throws usage for
/// options that are invalid for this problem or number of ranks.
Case make_case(const SolveOptions& options, int ranks);
/// The same for a problem whose text is known.
Case make_case(const SolveOptions& options, int ranks, const problem::ProblemText& problem);

/// Returns the names of fields, coefficients or parameters.
template <class Named>
std::vector<std::string> names_of(const std::vector<Named>& all) {
  std::vector<std::string> names;
  for (const Named& one : all) names.push_back(one.name);
  return names;
}

/// Returns why a backend cannot do several sweeps of the case in one pass over memory, or nothing.
std::optional<std::string> no_passes_because(const Case& the_case, const stencil::Backend& backend);
/// Returns the cells of the largest part of so many ranks.
Int3 largest_part(const Case& the_case, int ranks);
/// Lets a case on so many ranks do up to so many sweeps in one pass over memory: with halos as
/// deep, where there are neighbours, and twice as deep where few cells are computed twice by that.
void allow_passes(Case& the_case, std::int64_t sweeps, int ranks);
/// The same. Throws usage where a rank's part is too thin for the halos.
void allow_passes(Case& the_case, std::int64_t sweeps, const Communicator& communicator);

/// Returns the updates that a rank does for each of its cells beyond the first: with a halo of
/// depth K the first of K sweeps reaches K - 1 cells beyond its own, the last one none.
double redundant_updates(const Case& the_case, const Grid& grid);

}  // namespace halocline::solver
