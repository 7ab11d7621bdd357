// SPDX-License-Identifier: Apache-2.0
#pragma once
// The meaning of the names in an expression: from syntax to a tree.

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "problem/syntax.hpp"
#include "problem/tree.hpp"

namespace halocline::problem {

inline constexpr std::string_view axis_names = "xyz";

/// The use of an expression, which determines the names that it may contain.
enum class Use : unsigned char {
  number,       ///< a parameter: numbers alone
  initial,      ///< a field's start values: cells' places, noise
  coefficient,  ///< cells' places
  boundary,     ///< cells' places, and time
  update        ///< all but noise
};

struct Names {
  int axes = 0;
  /// Parameters, spacings and sizes, with their values.
  std::map<std::string, double, std::less<>> numbers = {};
  std::vector<std::string> fields = {}, coefficients = {};
  std::map<std::string, Syntax, std::less<>> locals = {};
  /// Names that are declared for another number of axes, or whose value is not known yet.
  std::map<std::string, std::string, std::less<>> refused = {};
};

/// Whether a file must not give this name to something of its own. It may use i, j and k, which it
/// then hides.
bool is_reserved(std::string_view name);

/// Translates an expression whose value is a number. Symbols of the tree: fields in their order,
/// then coefficients. Throws Mistake.
Ref meaning_of(Tree& tree, const Syntax& syntax, const Names& names, Use use);

/// The same for a condition, whose value is a truth value.
Ref condition_of(Tree& tree, const Syntax& syntax, const Names& names, Use use);

/// Refuses names in an expression that the file gives to nothing, for any number of axes. Throws
/// Mistake.
void check_names(const Syntax& syntax, const Names& names);

}  // namespace halocline::problem
