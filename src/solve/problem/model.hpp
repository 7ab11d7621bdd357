// SPDX-License-Identifier: Apache-2.0
#pragma once
// A problem file with every choice made: number of axes, cells and parameters. All names are looked
// up and all expressions are trees.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <halocline/box.hpp>
#include <halocline/grid.hpp>
#include <halocline/norm.hpp>
#include <halocline/precision.hpp>

#include "problem/file.hpp"
#include "problem/tree.hpp"

namespace halocline::problem {

/// The choices of a run; open ones have the file's defaults.
struct Choices {
  int axes = 0;  ///< 0: the file's first, or those of `cells`
  std::vector<std::int64_t> cells = {};
  std::map<std::string, double> parameters = {};
  std::optional<Precision> precision = {};
  std::optional<std::uint64_t> seed = {};
};

/// The values that a field or coefficient begins with: of an expression, or from a file.
struct StartValues {
  Ref expression = 0;
  std::optional<std::string> file = {};
};

/// The rule for the ghost cells beyond one side.
struct SideRule {
  BoundaryKind kind = BoundaryKind::outside;
  std::array<Ref, 3> values{};  ///< as BoundaryText::values, evaluated at the face or the ghost
  bool depends_on_time = false;

  /// Whether the ghosts stay as they are during a run.
  bool is_fixed() const { return kind == BoundaryKind::outside && !depends_on_time; }
};

struct ModelField {
  std::string name;
  StartValues initial = {};
  std::array<std::optional<SideRule>, 6> sides = {};  ///< x lower, x upper, y lower, ...
  Ref update = 0;
  std::optional<std::size_t> follows = {};  ///< the field whose old level becomes this one's new
  Reach reach = {};                         ///< of all updates that read it
};

struct ModelCoefficient {
  std::string name;
  StartValues values = {};
  Reach reach = {};
};

struct ModelParameter {
  std::string name, help;
  double value;
};

struct Model {
  std::string name;  ///< of the file, without its folder and ".toml"
  std::string title;
  int axes = 0;
  Int3 cells{1, 1, 1};
  std::array<double, 3> lower{}, spacing{1, 1, 1};
  std::array<double, 3> upper{};
  std::array<bool, 3> periodic{};
  Precision precision = Precision::f64;
  std::uint64_t seed = 12345;
  std::vector<ModelParameter> parameters = {};
  bool has_requirements = false;  ///< conditions that the parameters meet
  Tree tree = {};
  std::vector<ModelField> fields = {};
  std::vector<ModelCoefficient> coefficients = {};
  std::optional<double> dt = {};
  std::int64_t sweeps = 0;
  Norm norm = Norm::max;
  std::vector<std::size_t> norm_of = {};  ///< fields, in their order
  std::optional<double> tolerance = {};

  /// Levels of time that are kept: the new one, the old one, and one more for each field in the
  /// longest chain of followers. A field that follows has, in each level, the memory that the other
  /// has in the level before.
  std::size_t levels() const;
  /// Returns the field that a field follows, directly or through others, and how many levels later.
  std::pair<std::size_t, std::size_t> followed(std::size_t field) const;
  bool is_in_norm(std::size_t field) const;
  std::int64_t element_bytes() const { return precision == Precision::f32 ? 4 : 8; }
  /// The updates that compute something, in the order of their fields.
  std::vector<Ref> updates() const;
  /// How far updates read any field or coefficient, along each axis and side.
  HaloWidths reach() const;
  /// Whether ghost cells that are read, of a field beyond a side, have to be made anew for each
  /// sweep: they depend on fields or on time, or a field shares its memory with one that it
  /// follows, which has ghosts of its own.
  bool ghosts_change(std::size_t field, std::size_t side) const;
  bool ghosts_change() const;  ///< any
  /// Whether updates, or values beyond sides that are read, depend on time.
  bool depends_on_time() const;
  /// Whether an update reads a field of a cell that lies off along several axes.
  bool reads_diagonally() const;
  /// Whether updates read fields of the cell and of its nearest neighbours along the axes alone.
  bool reads_nearest() const;
  /// Returns the field that a sweep must have from other subdomains, if it is the only one and
  /// sweeps write it.
  std::optional<std::size_t> only_field_with_halo() const;
};

/// Makes the choices. Throws usage, with line and column, for mistakes in the file, and for choices
/// that it does not allow.
Model model_of(const File& file, const Choices& choices);

}  // namespace halocline::problem
