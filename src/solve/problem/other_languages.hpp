// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions and names that other languages have, and how to write them in this one.

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace halocline::problem {

/// A function of other languages, as an expression of this one.
struct ForeignFunction {
  std::vector<std::string_view> names;  ///< that it has
  std::string_view arguments;           ///< "a, b"
  std::string text;                     ///< with these letters
  /// Parts of the text that have letters of their own, and how far it may be from right.
  std::vector<std::pair<std::string_view, std::string_view>> letters = {};
  std::string_view accuracy = {};
};

std::span<const ForeignFunction> foreign_functions();

/// Returns "for tan(a) write sin(a)/cos(a)"; empty for functions that are not known.
std::string advice_on_function(std::string_view name);
/// Returns "write exp(1)" for e; empty for names that are not known.
std::string advice_on_name(std::string_view name);
/// Returns "write { value = v }" for dirichlet; empty for words that are not known.
std::string advice_on_boundary(std::string_view word);

}  // namespace halocline::problem
