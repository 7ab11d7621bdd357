// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stencil problems by name, from files and from texts: docs/problem-files.md is their language.

#include <string>
#include <utility>
#include <vector>

#include <halocline/formula.hpp>

namespace halocline {

/// A problem to solve, not read yet: functions that use it report its mistakes, with line and
/// column.
class Problem {
 public:
  Problem() = default;
  /// The name of a built-in problem, or the path of a problem file: with a `/`, or ending in
  /// `.toml`. Rank 0 reads the file when the problem is used.
  Problem(std::string name_or_path) : name_(std::move(name_or_path)) {}  // NOLINT: as it is named
  Problem(const char* name_or_path) : name_(name_or_path) {}             // NOLINT
  /// A problem file, whatever its name is.
  static Problem from_file(const std::string& path);
  /// The text of a problem file, the same on every rank. Reports and errors use `name`;
  /// arrays that the text names are looked up in its folder, as for a file.
  static Problem from_text(std::string text, std::string name = "text");

  /// Adds the update of a field, by C++ code instead of text: the problem's own text has no
  /// [update] and no [locals] then. The same on every rank. Throws usage if there are too many
  /// operations.
  Problem& update(const std::string& field, const Formula& formula);

  const std::string& name() const { return name_; }
  /// Empty if the problem is looked up by its name.
  const std::string& text() const { return text_; }
  /// The text of updates that the program added; empty without any.
  const std::string& updates() const { return updates_text_; }

 private:
  std::string name_, text_, updates_text_;
  std::vector<std::pair<std::string, Formula>> updates_;
};

}  // namespace halocline
