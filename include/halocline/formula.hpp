// SPDX-License-Identifier: Apache-2.0
#pragma once
// Updates of problems as C++ code: functions of cells, written with operators.
//
//   struct Heat {
//     double number;
//     template <class Field>
//     auto operator()(const Field& u) const {
//       return u(0, 0) + number * (u(-1, 0) + u(1, 0) + u(0, -1) + u(0, 1) - 4 * u(0, 0));
//     }
//   };
//   problem.update("u", Heat{0.2}(halocline::Cells("u")));
//
// Such code runs once, on the CPU. Its operands are not numbers: they record operations,
// which then run on CPUs and GPUs as the formulas of a problem file do, with the same bits. So it
// cannot branch on them; select() is for that. docs/problem-functions.md defines each operation.

#include <memory>
#include <string>
#include <utility>

namespace halocline {

/// The operations that a formula applies to cells, names and numbers. Copies share them.
class Formula {
 public:
  Formula(double number);  // NOLINT: numbers are formulas
  /// A name of the problem's text: a parameter, "x", "i", "nx", "dx", "t", "pi".
  static Formula named(const std::string& name);

  /// An operation on other formulas. Made by the functions below.
  struct Node;
  explicit Formula(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  const Node& node() const { return *node_; }

 private:
  std::shared_ptr<const Node> node_;
};

/// True or false for a cell: for select(), and for `and`, `or` and `not`.
class Condition {
 public:
  explicit Condition(Formula formula) : formula_(std::move(formula)) {}
  const Formula& formula() const { return formula_; }

 private:
  Formula formula_;
};

/// A field or coefficient of a problem, by name.
class Cells {
 public:
  explicit Cells(std::string name) : name_(std::move(name)) {}
  /// Returns the value at an offset, of at most 8 cells, from the updated cell: one number for each
  /// axis of the problem.
  Formula operator()(int x) const;
  Formula operator()(int x, int y) const;
  Formula operator()(int x, int y, int z) const;
  /// The value of the cell itself.
  operator Formula() const { return Formula::named(name_); }  // NOLINT: u is u(0, 0)

 private:
  std::string name_;
};

Formula operator+(const Formula& a, const Formula& b);
Formula operator-(const Formula& a, const Formula& b);
Formula operator*(const Formula& a, const Formula& b);
Formula operator/(const Formula& a, const Formula& b);
Formula operator-(const Formula& a);
inline Formula& operator+=(Formula& a, const Formula& b) { return a = a + b; }
inline Formula& operator-=(Formula& a, const Formula& b) { return a = a - b; }
inline Formula& operator*=(Formula& a, const Formula& b) { return a = a * b; }
inline Formula& operator/=(Formula& a, const Formula& b) { return a = a / b; }

Condition operator<(const Formula& a, const Formula& b);
Condition operator<=(const Formula& a, const Formula& b);
Condition operator>(const Formula& a, const Formula& b);
Condition operator>=(const Formula& a, const Formula& b);
Condition operator==(const Formula& a, const Formula& b);
Condition operator!=(const Formula& a, const Formula& b);
Condition operator!(const Condition& a);
/// Both sides are evaluated.
Condition operator&&(const Condition& a, const Condition& b);
Condition operator||(const Condition& a, const Condition& b);
/// `yes` where the condition is true, else `no`; both are evaluated.
Formula select(const Condition& condition, const Formula& yes, const Formula& no);

Formula abs(const Formula& a);
Formula sqrt(const Formula& a);
Formula exp(const Formula& a);
Formula log(const Formula& a);
Formula sin(const Formula& a);
Formula cos(const Formula& a);
Formula tanh(const Formula& a);
Formula min(const Formula& a, const Formula& b);
Formula max(const Formula& a, const Formula& b);
/// Repeated products for whole exponents from -16 to 16.
Formula pow(const Formula& a, const Formula& b);
/// a * b + c, rounded once.
Formula fma(const Formula& a, const Formula& b, const Formula& c);
/// The sum of the second differences along all axes of the problem, of an even order of accuracy.
Formula laplace(const Formula& a, int order = 2);
/// The first and the second difference along an axis: 0 for x.
Formula derivative(const Formula& a, int axis, int order = 2);
Formula second_derivative(const Formula& a, int axis, int order = 2);

}  // namespace halocline
