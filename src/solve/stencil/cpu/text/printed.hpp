// SPDX-License-Identifier: Apache-2.0
#pragma once
// The updates of a model as C++ for CPUs.

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "stencil/cpu/text/arguments.hpp"
#include "stencil/formula_text.hpp"

namespace halocline::stencil::cpu {

struct PrintedUpdate {
  /// Of the function HALOCLINE_UPDATE, a macro, in terms of text/rows.hpp, which comes before it.
  std::string source;
  Operands operands;
  std::array<double, most_constants> constants{};
};

/// `name`: of a namespace, where several are in one source.
PrintedUpdate print_update(const problem::Model& model, const std::string& name = "formula");

/// Returns text/rows.hpp with all that it includes, as one text.
const char* text_of_rows();

/// A level of vectors and the flags of a compiler for it.
struct LevelFlags {
  std::string_view level, flags;  ///< separated by blanks
};
/// Lists those that this build knows.
std::span<const LevelFlags> level_flags();

/// An update that is compiled in.
struct BuiltInUpdate {
  std::string_view text;  ///< content_hash() of its source
  std::string_view level;
  Update* update;
};
std::span<const BuiltInUpdate> built_in_updates();

}  // namespace halocline::stencil::cpu
