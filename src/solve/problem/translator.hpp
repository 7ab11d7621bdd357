// SPDX-License-Identifier: Apache-2.0
#pragma once
// The texts of a problem file for a number of axes, parsed and translated; mistakes in them become
// errors of the file.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text/words.hpp"
#include "problem/file.hpp"
#include "problem/meaning.hpp"

namespace halocline::problem {

class Translator {
 public:
  /// The parts must outlive it. Names and number of axes may still change.
  Translator(const Source& source, const Names& names, Tree& tree)
      : source_(source), names_(names), tree_(tree) {}

  Syntax parsed(const Written& written) const;
  Ref meaning(const Written& written, Use use) const;
  double number(const Written& written) const { return tree_[meaning(written, Use::number)].value; }
  /// Returns the value of a condition on numbers.
  bool holds(const Written& condition) const;
  /// Refuses names that the file gives to nothing.
  void check_names(const Written& written) const;

  /// Returns the value for this number of axes, or for all; null if there is none.
  template <class Value>
  const Value* for_axes(const ByAxes<Value>& values) const {
    for (const int axes : {names_.axes, 0})
      if (const auto found = values.find(axes); found != values.end()) return &found->second;
    return nullptr;
  }
  /// Returns one value for each axis; none if the file has no such key.
  template <class Value>
  std::vector<Value> along_axes(const ByAxes<AlongAxes<Value>>& all, std::string_view key) const {
    const AlongAxes<Value>* const found = for_axes(all);
    if (found == nullptr && !all.empty())
      refuse(fmt::format("the file has no '{}' for {}", key, axes_text()));
    if (found == nullptr) return {};
    const auto axes = static_cast<std::size_t>(names_.axes);
    if (!found->is_list) return std::vector<Value>(axes, found->values[0]);
    if (found->values.size() != axes)
      refuse(found->at, found->length,
             fmt::format("'{}' has {} for {}; give one for each axis, or a single one without "
                         "brackets for all",
                         key, counted(found->values.size(), "number"), axes_text()));
    return found->values;
  }
  /// "1 axis"
  std::string axes_text() const { return counted(names_.axes, "axis"); }

  [[noreturn]] void refuse(std::size_t at, std::size_t length, const std::string& what) const;
  [[noreturn]] void refuse(const Written& written, const std::string& what) const;
  [[noreturn]] void refuse(const std::string& what) const;
  /// At the name of a field, a coefficient, a local or an update.
  template <class Named>
  requires requires(Named named) { named.at, named.name.size(); }
  [[noreturn]] void refuse(const Named& named, const std::string& what) const {
    refuse(named.at, named.name.size(), what);
  }
  /// The same with values for the text, at anything of those.
  template <class At, class First, class... Rest>
  [[noreturn]] void refuse(const At& at, fmt::format_string<First, Rest...> what, First&& first,
                           Rest&&... rest) const {
    refuse(at, fmt::format(what, std::forward<First>(first), std::forward<Rest>(rest)...));
  }

 private:
  template <class Work>
  auto with(const Written& written, Work work) const;

  const Source& source_;
  const Names& names_;
  Tree& tree_;
};

}  // namespace halocline::problem
