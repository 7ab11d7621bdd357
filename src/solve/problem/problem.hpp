// SPDX-License-Identifier: Apache-2.0
#pragma once
// Problems: formula, start, boundary and parameters, independent of grid split, memory and machine.
// To add one, add a file in this folder and a row in catalogue.hpp.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <halocline/box.hpp>
#include <halocline/norm.hpp>
#include <halocline/precision.hpp>

namespace halocline::problem {

using halocline::Precision;
using Norm = halocline::Norm;
using halocline::name_of;

/// A number that --set can change.
struct Parameter {
  std::string_view name;
  double value;  ///< by default
  std::string_view help;
};

/// The constants and defaults of a problem.
struct ProblemInfo {
  std::string_view name;
  std::string_view summary;
  std::string_view formula;
  int fewest_axes, most_axes;
  Int3 cells;  ///< for `axes` axes
  int axes;
  Precision precision;
  std::array<bool, 3> periodic;
  Norm norm;
  std::optional<double> tolerance;  ///< none: runs for `sweeps` sweeps
  std::int64_t sweeps;
  std::vector<Parameter> parameters;
};

/// One instance of a problem.
struct Setting {
  Int3 cells{1, 1, 1};
  int axes = 0;
  std::vector<double> parameters;  ///< in the order of ProblemInfo::parameters
  std::uint64_t seed = 12345;
};

/// Computes start values one row at a time, from tables made once. Threads may share it.
class Start {
 public:
  virtual ~Start() = default;
  /// Writes the values of the `count` cells from `first` on along x.
  virtual void row(Int3 first, std::int64_t count, double* values) const = 0;
};

class Problem {
 public:
  virtual ~Problem() = default;
  virtual const ProblemInfo& info() const = 0;
  /// Throws usage for an invalid setting, such as an unstable time step.
  virtual void check(const Setting& setting) const;
  /// Makes the start values of `cells`, which are in global coordinates.
  virtual std::unique_ptr<Start> start(const Setting& setting, const Box& cells) const = 0;
  /// Returns the fixed value of a cell outside the domain. The caller folds coordinates along
  /// periodic axes into the domain.
  virtual double boundary(const Setting& setting, Int3 cell) const;
  /// Returns the exact discrete solution after `sweeps` sweeps; nothing if none is known.
  virtual std::optional<double> exact(const Setting& setting, Int3 cell, std::int64_t sweeps) const;
};

/// Makes start values of noise.
std::unique_ptr<Start> noise_start(const Setting& setting);

}  // namespace halocline::problem
