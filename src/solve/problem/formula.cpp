// SPDX-License-Identifier: Apache-2.0
#include "problem/formula.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <unordered_map>

#include <fmt/format.h>

#include "problem/file.hpp"
#include "problem/syntax.hpp"
#include "text/refuse.hpp"

namespace halocline {

/// Text of the language: `words` around the parts, "(", " + ", ")".
struct Formula::Node {
  std::vector<std::string> words;  ///< one more than parts
  std::vector<Formula> parts;
  int depth = 1;
};

namespace {

using Node = Formula::Node;

Formula made(std::vector<std::string> words, std::vector<Formula> parts) {
  Node node{.words = std::move(words), .parts = std::move(parts)};
  for (const Formula& part : node.parts) node.depth = std::max(node.depth, part.node().depth + 1);
  if (node.depth > problem::deepest)
    refuse("a formula is at most {} operations deep; add long sums in parts", problem::deepest);
  return Formula(std::make_shared<const Node>(std::move(node)));
}

Formula leaf(std::string text) { return made({std::move(text)}, {}); }

Formula binary(const Formula& a, const char* symbol, const Formula& b) {
  return made({"(", fmt::format(" {} ", symbol), ")"}, {a, b});
}

Formula call(const std::string& function, const std::vector<Formula>& arguments,
             const std::string& more = "") {
  std::vector<std::string> words(arguments.size() + 1, ", ");
  words.front() = function + "(";
  words.back() = more + ")";
  return made(std::move(words), arguments);
}

/// The text of formulas: every node once.
class Printer {
 public:
  /// Counts uses, so that it comes before any text.
  void count(const Formula& formula) {
    if (uses_[&formula.node()]++ > 0) return;
    for (const Formula& part : formula.node().parts) count(part);
  }

  std::string text(const Formula& formula) { return printed(formula.node()); }

  /// The locals, each after those that it needs.
  const std::string& lines() const { return lines_; }

 private:
  std::string printed(const Node& node) {
    if (const auto known = locals_.find(&node); known != locals_.end()) return known->second;
    std::string text = node.words[0];
    for (std::size_t i = 0; i < node.parts.size(); ++i)
      text += printed(node.parts[i].node()) + node.words[i + 1];
    if (node.parts.empty() || uses_[&node] == 1) return text;
    const std::string name = fmt::format("shared_{}", locals_.size() + 1);
    lines_ += fmt::format("{} = \"{}\"\n", name, text);
    return locals_[&node] = name;
  }

  std::unordered_map<const Node*, int> uses_;
  std::unordered_map<const Node*, std::string> locals_;
  std::string lines_;
};

const char* axis_name(int axis) {
  constexpr std::array<const char*, 3> names{"x", "y", "z"};
  if (axis < 0 || axis > 2) refuse("there is no axis {}; use 0, 1 or 2", axis);
  return names[static_cast<std::size_t>(axis)];
}

Formula difference(const std::string& function, const Formula& a, int order) {
  return call(function, {a}, fmt::format(", {}", order));
}

}  // namespace

Formula::Formula(double number) {
  if (!std::isfinite(number)) refuse("{} cannot be a number of a formula", number);
  // The shortest text that reads as the same number; one below zero is an operation of the
  // language.
  *this =
      std::signbit(number) ? -leaf(fmt::format("{}", -number)) : leaf(fmt::format("{}", number));
}

Formula Formula::named(const std::string& name) { return leaf(name); }

Formula Cells::operator()(int x) const { return leaf(fmt::format("{}[{}]", name_, x)); }
Formula Cells::operator()(int x, int y) const {
  return leaf(fmt::format("{}[{},{}]", name_, x, y));
}
Formula Cells::operator()(int x, int y, int z) const {
  return leaf(fmt::format("{}[{},{},{}]", name_, x, y, z));
}

Formula operator+(const Formula& a, const Formula& b) { return binary(a, "+", b); }
Formula operator-(const Formula& a, const Formula& b) { return binary(a, "-", b); }
Formula operator*(const Formula& a, const Formula& b) { return binary(a, "*", b); }
Formula operator/(const Formula& a, const Formula& b) { return binary(a, "/", b); }
Formula operator-(const Formula& a) { return made({"(-", ")"}, {a}); }

Condition operator<(const Formula& a, const Formula& b) { return Condition(binary(a, "<", b)); }
Condition operator<=(const Formula& a, const Formula& b) { return Condition(binary(a, "<=", b)); }
Condition operator>(const Formula& a, const Formula& b) { return Condition(binary(a, ">", b)); }
Condition operator>=(const Formula& a, const Formula& b) { return Condition(binary(a, ">=", b)); }
Condition operator==(const Formula& a, const Formula& b) { return Condition(binary(a, "==", b)); }
Condition operator!=(const Formula& a, const Formula& b) { return Condition(binary(a, "!=", b)); }
Condition operator!(const Condition& a) { return Condition(made({"(not ", ")"}, {a.formula()})); }
Condition operator&&(const Condition& a, const Condition& b) {
  return Condition(binary(a.formula(), "and", b.formula()));
}
Condition operator||(const Condition& a, const Condition& b) {
  return Condition(binary(a.formula(), "or", b.formula()));
}
Formula select(const Condition& condition, const Formula& yes, const Formula& no) {
  return call("select", {condition.formula(), yes, no});
}

Formula abs(const Formula& a) { return call("abs", {a}); }
Formula sqrt(const Formula& a) { return call("sqrt", {a}); }
Formula exp(const Formula& a) { return call("exp", {a}); }
Formula log(const Formula& a) { return call("log", {a}); }
Formula sin(const Formula& a) { return call("sin", {a}); }
Formula cos(const Formula& a) { return call("cos", {a}); }
Formula tanh(const Formula& a) { return call("tanh", {a}); }
Formula min(const Formula& a, const Formula& b) { return call("min", {a, b}); }
Formula max(const Formula& a, const Formula& b) { return call("max", {a, b}); }
Formula pow(const Formula& a, const Formula& b) { return binary(a, "^", b); }
Formula fma(const Formula& a, const Formula& b, const Formula& c) { return call("fma", {a, b, c}); }
Formula laplace(const Formula& a, int order) { return difference("laplace", a, order); }
Formula derivative(const Formula& a, int axis, int order) {
  return difference(fmt::format("dd{}", axis_name(axis)), a, order);
}
Formula second_derivative(const Formula& a, int axis, int order) {
  return difference(fmt::format("d2d{}2", axis_name(axis)), a, order);
}

namespace problem {

std::string text_of(const std::vector<std::pair<std::string, Formula>>& updates) {
  Printer printer;
  for (const auto& [field, formula] : updates) printer.count(formula);
  std::string lines;
  for (const auto& [field, formula] : updates) {
    lines += fmt::format("{} = \"{}\"\n", field, printer.text(formula));
    if (lines.size() + printer.lines().size() > most_text)
      refuse("the formulas make more than {} bytes of text; use fewer operations", most_text);
  }
  return (printer.lines().empty() ? "" : "\n[locals]\n" + printer.lines()) + "\n[update]\n" + lines;
}

}  // namespace problem
}  // namespace halocline
