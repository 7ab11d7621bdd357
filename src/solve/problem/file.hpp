// SPDX-License-Identifier: Apache-2.0
#pragma once
// A problem file: its keys, with expressions still as text.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <halocline/norm.hpp>
#include <halocline/precision.hpp>

#include "problem/ghost.hpp"
#include "problem/source.hpp"

namespace halocline::problem {

using halocline::name_of;
using halocline::Norm;
using halocline::Precision;

/// A value that may be given for each number of axes, 1 to 3; under 0 for all of them.
template <class Value>
using ByAxes = std::map<int, Value>;

/// One value for each axis, or a single one for all of them.
template <class Value>
struct AlongAxes {
  std::vector<Value> values = {};
  bool is_list = false;
  std::size_t at = 0, length = 1;  ///< in the file
};

std::string_view name_of(BoundaryKind kind);

struct BoundaryText {
  BoundaryKind kind = BoundaryKind::outside;
  std::vector<Written> values = {};  ///< none, one, or a, b and c
  std::size_t at = 0;                ///< in the file
};

/// From an expression, or from a `.npy` file, whose path is relative to the problem file.
struct StartText {
  Written expression = {};
  std::optional<std::string> file = {};
};

struct ParameterText {
  std::string name, help;
  Written value;
};

struct FieldText {
  std::string name;
  std::size_t at = 0;
  ByAxes<StartText> initial = {};
  /// By side: x lower, x upper, y lower, ...
  std::array<std::optional<BoundaryText>, 6> boundary = {};
};

struct CoefficientText {
  std::string name;
  std::size_t at = 0;
  StartText value = {};
};

struct NamedText {
  std::string name;
  std::size_t at = 0;
  ByAxes<Written> value = {};
};

struct Requirement {
  Written condition;
  std::string message;
};

struct StopText {
  std::optional<std::int64_t> sweeps = {};
  std::optional<Written> time = {}, tolerance = {};
  std::optional<Norm> norm = {};
  std::vector<std::string> norm_of = {};  ///< fields; none: all that are computed
  std::size_t at = 0;
};

struct File {
  Source source;
  std::string title = {};
  std::vector<int> axes = {};  ///< the numbers of axes it is for, the default first
  ByAxes<AlongAxes<std::int64_t>> cells = {};
  ByAxes<AlongAxes<Written>> lower = {}, upper = {};  ///< if none: 0, and as the spacing makes it
  std::optional<Precision> precision = {};
  std::optional<std::uint64_t> seed = {};
  std::vector<ParameterText> parameters = {};
  std::vector<Requirement> requirements = {};
  std::vector<FieldText> fields = {};
  std::vector<CoefficientText> coefficients = {};
  std::vector<NamedText> locals = {}, updates = {};
  StopText stop = {};
};

inline constexpr std::size_t most_text = std::size_t{1} << 20;
/// Fields and coefficients together are at most 256, the symbols of a tree.
inline constexpr std::size_t most_fields = 16, most_coefficients = 128, most_parameters = 64;

/// Reads the keys of a text; `name` is its path, or another name for errors. Throws usage,
/// with line and column, for TOML that is not well formed, keys that are not known, and values of
/// the wrong type.
File read_text(const std::string& name, std::string text);
/// Returns the text of a file, or as much as is more than a problem file may have. Throws usage if
/// it cannot be read.
std::string text_of_file(const std::string& path);

}  // namespace halocline::problem
