// SPDX-License-Identifier: Apache-2.0
#include "problem/meaning.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <optional>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text/words.hpp"
#include "problem/other_languages.hpp"
#include "text/near_miss.hpp"

namespace halocline::problem {
namespace {

using Kind = Syntax::Kind;

constexpr std::string_view index_names = "ijk";
// a^n up to here is a product.
constexpr int largest_power = 16;
// The depth of expressions with the locals in them, so that no text can exhaust the stack.
constexpr int most_levels = 1024;

struct Function {
  std::string_view name;
  int fewest, most;  // arguments
};

constexpr std::array<Function, 20> functions{
    {{"abs", 1, 1}, {"sqrt", 1, 1},   {"exp", 1, 1},   {"log", 1, 1},     {"sin", 1, 1},
     {"cos", 1, 1}, {"tanh", 1, 1},   {"pow", 2, 2},   {"min", 2, 2},     {"max", 2, 2},
     {"fma", 3, 3}, {"select", 3, 3}, {"noise", 0, 1}, {"laplace", 1, 2}, {"ddx", 1, 2},
     {"ddy", 1, 2}, {"ddz", 1, 2},    {"d2dx2", 1, 2}, {"d2dy2", 1, 2},   {"d2dz2", 1, 2}}};

const Function* function_named(std::string_view name) {
  const auto found = std::find_if(functions.begin(), functions.end(),
                                  [&](const Function& one) { return one.name == name; });
  return found == functions.end() ? nullptr : &*found;
}

std::vector<std::string> function_names() {
  std::vector<std::string> names;
  for (const Function& one : functions) names.emplace_back(one.name);
  return names;
}

[[noreturn]] void refuse_at(const Syntax& syntax, const std::string& what) {
  throw Mistake(syntax.at, syntax.length, what);
}
template <class First, class... Rest>
[[noreturn]] void refuse_at(const Syntax& syntax, fmt::format_string<First, Rest...> what,
                            First&& first, Rest&&... rest) {
  refuse_at(syntax, fmt::format(what, std::forward<First>(first), std::forward<Rest>(rest)...));
}

/// The number that a literal, or a literal with a sign, has; nothing for other expressions.
std::optional<double> literal(const Syntax& syntax) {
  if (syntax.kind == Kind::number) return syntax.number;
  if (syntax.kind != Kind::unary || syntax.name != "-") return std::nullopt;
  const std::optional<double> of = literal(syntax.parts[0]);
  return of ? std::optional(-*of) : std::nullopt;
}

std::optional<int> whole_literal(const Syntax& syntax, int most) {
  const std::optional<double> number = literal(syntax);
  if (!number || std::trunc(*number) != *number || std::fabs(*number) > most) return std::nullopt;
  return static_cast<int>(*number);
}

/// Central differences by order, 2 to 8: the weights of distance 0, 1, ... (B. Fornberg,
/// Mathematics of Computation 51, 1988), as fractions.
struct Fraction {
  double above, below;
};
constexpr std::array<std::array<Fraction, 5>, 4> first_weights{
    {{{{0, 1}, {1, 2}}},
     {{{0, 1}, {2, 3}, {-1, 12}}},
     {{{0, 1}, {3, 4}, {-3, 20}, {1, 60}}},
     {{{0, 1}, {4, 5}, {-1, 5}, {4, 105}, {-1, 280}}}}};
constexpr std::array<std::array<Fraction, 5>, 4> second_weights{
    {{{{-2, 1}, {1, 1}}},
     {{{-5, 2}, {4, 3}, {-1, 12}}},
     {{{-49, 18}, {3, 2}, {-3, 20}, {1, 90}}},
     {{{-205, 72}, {8, 5}, {-1, 5}, {8, 315}, {-1, 560}}}}};

class Meaning {
 public:
  Meaning(Tree& tree, const Names& names, Use use) : tree_(tree), names_(names), use_(use) {}

  Ref number(const Syntax& syntax) {
    const Ref node = of(syntax);
    if (is_truth(node))
      refuse_at(syntax, "a number is expected, not a truth value; use select(condition, 1, 0)");
    return node;
  }
  Ref truth(const Syntax& syntax) {
    const Ref node = of(syntax);
    if (!is_truth(node))
      refuse_at(syntax, "a truth value is expected, not a number; compare it, as in u > 0");
    return node;
  }

  /// Names of other numbers of axes are known, too.
  void check_names(const Syntax& syntax) const {
    if (syntax.kind == Kind::call && function_named(syntax.name) == nullptr)
      refuse_function(syntax);
    const bool is_name = syntax.kind == Kind::name || syntax.kind == Kind::access;
    if (is_name && !is_known(syntax.name) && !symbol_of(syntax.name) && !is_spacing(syntax.name) &&
        !names_.refused.contains(syntax.name))
      refuse_name(syntax);
    for (const Syntax& part : syntax.parts) check_names(part);
  }

 private:
  Ref of(const Syntax& syntax) {
    if (++level_ > most_levels)
      refuse_at(syntax, "an expression and the [locals] in it are more than {} levels deep",
                most_levels);
    try {
      const Ref node = translated(syntax);
      --level_;
      return node;
    } catch (const std::length_error& error) {
      refuse_at(syntax, error.what());
    }
  }

  Ref translated(const Syntax& syntax) {
    switch (syntax.kind) {
      case Kind::number:
        return tree_.constant(syntax.number);
      case Kind::name:
        return named(syntax);
      case Kind::access:
        return access(syntax);
      case Kind::call:
        return call(syntax);
      case Kind::unary:
        return syntax.name == "not" ? tree_.operation(Op::logical_not, truth(syntax.parts[0]))
                                    : tree_.operation(Op::negate, number(syntax.parts[0]));
      case Kind::operation:
        return operation(syntax);
    }
    refuse_at(syntax, "not an expression");
  }

  bool is_truth(Ref node) const { return tree_[node].is_truth; }

  Ref operation(const Syntax& syntax) {
    const Syntax &left = syntax.parts[0], &right = syntax.parts[1];
    if (syntax.name == "^") return power(left, right);
    const Op op = operator_of(syntax.name).value();
    const bool is_of_truths = op == Op::logical_and || op == Op::logical_or;
    const Ref a = is_of_truths ? truth(left) : number(left);
    return tree_.operation(op, a, is_of_truths ? truth(right) : number(right));
  }

  Ref power(const Syntax& base, const Syntax& exponent) {
    const Ref a = number(base);
    const std::optional<int> times = whole_literal(exponent, largest_power);
    if (!times) return tree_.operation(Op::pow, a, number(exponent));
    if (*times == 0) return tree_.constant(1);
    const Ref product = tree_.power(a, std::abs(*times));
    return *times > 0 ? product : tree_.operation(Op::divide, tree_.constant(1), product);
  }

  Ref named(const Syntax& syntax) {
    const std::string& name = syntax.name;
    if (const auto found = names_.numbers.find(name); found != names_.numbers.end())
      return tree_.constant(found->second);
    if (const auto symbol = symbol_of(name)) return read(syntax, *symbol, {});
    if (const auto local = names_.locals.find(name); local != names_.locals.end())
      return of_local(syntax, local->second);
    if (names_.refused.contains(name)) refuse_name(syntax);
    if (name == "pi") return tree_.constant(std::numbers::pi);
    if (const auto axis = axis_of(axis_names, name)) return place(syntax, Op::coordinate, *axis);
    if (const auto axis = axis_of(index_names, name)) return place(syntax, Op::index, *axis);
    if (name == "t") return time(syntax);
    refuse_name(syntax);
  }

  static std::optional<int> axis_of(std::string_view letters, std::string_view name) {
    if (name.size() != 1 || letters.find(name) == letters.npos) return std::nullopt;
    return static_cast<int>(letters.find(name));
  }

  std::optional<int> symbol_of(const std::string& name) const {
    int symbol = 0;
    for (const auto* list : {&names_.fields, &names_.coefficients})
      for (const std::string& one : *list) {
        if (one == name) return symbol;
        ++symbol;
      }
    return std::nullopt;
  }

  Ref place(const Syntax& syntax, Op op, int axis) {
    if (axis >= names_.axes)
      refuse_at(syntax, "there is no '{}': the problem has {}", syntax.name, axes_text());
    if (use_ == Use::number)
      throw Mistake(
          syntax.at, syntax.length,
          fmt::format("'{}' differs from cell to cell; this must be one number", syntax.name));
    return op == Op::coordinate ? tree_.coordinate(axis) : tree_.index(axis);
  }

  Ref time(const Syntax& syntax) {
    if (use_ != Use::boundary && use_ != Use::update)
      refuse_at(syntax, "'t' is for updates and boundaries; this is evaluated once, at the start");
    if (!names_.numbers.contains("dt"))
      refuse_at(syntax, "'t' is the number of sweeps times dt; add a parameter named dt");
    return tree_.time();
  }

  Ref read(const Syntax& syntax, int symbol, std::array<int, 3> offset) {
    if (use_ != Use::update) refuse_at(syntax, "'{}' may be used in updates only", syntax.name);
    return tree_.access(symbol, offset);
  }

  /// A field or coefficient at an offset; a part of formulas, all of it moved by the offset.
  Ref access(const Syntax& syntax) {
    const auto symbol = symbol_of(syntax.name);
    const auto local = names_.locals.find(syntax.name);
    if (!symbol && local == names_.locals.end()) {
      if (is_known(syntax.name))
        refuse_at(syntax,
                  "'{}' is no field, no coefficient and none of [locals], so it "
                  "has no neighbours",
                  syntax.name);
      refuse_name(syntax);
    }
    const std::array<int, 3> offset = offset_of(syntax);
    return symbol ? read(syntax, *symbol, offset)
                  : tree_.shifted(of_local(syntax, local->second), offset);
  }

  std::array<int, 3> offset_of(const Syntax& syntax) const {
    if (syntax.offsets.size() != static_cast<std::size_t>(names_.axes))
      refuse_at(syntax, "'{}' has {} here; the problem has {}", syntax.name,
                counted(syntax.offsets.size(), "offset"), axes_text());
    std::array<int, 3> offset{};
    for (std::size_t axis = 0; axis < syntax.offsets.size(); ++axis) {
      const std::int64_t cells = syntax.offsets[axis];
      if (std::abs(cells) > farthest)
        refuse_at(syntax, "'{}' is read {} cells far along {}; {} are the most", syntax.name, cells,
                  axis_names[axis], farthest);
      offset[axis] = static_cast<int>(cells);
    }
    return offset;
  }

  /// Translates a local once, where it is used first.
  Ref of_local(const Syntax& syntax, const Syntax& local) {
    const std::string& name = syntax.name;
    if (use_ != Use::update)
      refuse_at(syntax, "'{}' of [locals] may be used in updates only", name);
    if (const auto known = locals_.find(name); known != locals_.end()) return known->second;
    if (!begun_.insert(name).second)
      refuse_at(syntax, "'{}' of [locals] needs its own value", name);
    // Only those that wait for their own locals.
    if (begun_.size() - locals_.size() > deepest)
      refuse_at(syntax, "more than {} of [locals] need each other", deepest);
    try {
      return locals_[name] = number(local);
    } catch (const Mistake& mistake) {
      // The local that has the mistake is named, not each that needs it.
      const std::string where =
          std::exchange(local_is_named_, true) ? "" : fmt::format("in '{}' of [locals]: ", name);
      refuse_at(syntax, where + mistake.what());
    }
  }

  Ref call(const Syntax& syntax) {
    const Function* function = function_named(syntax.name);
    if (function == nullptr) refuse_function(syntax);
    check_count(syntax, *function);
    const auto& parts = syntax.parts;
    const std::string_view name = function->name;
    if (name == "noise") return noise(syntax);
    if (name == "min" || name == "max") return extreme(name == "min", parts);
    if (name == "laplace") return laplace(syntax);
    if (name.starts_with("dd")) return difference(syntax, axis_named(syntax, name.back()), false);
    if (name.starts_with("d2")) return difference(syntax, axis_named(syntax, name[3]), true);
    const Op op = function_of(name).value();
    std::array<Ref, 3> operands{};
    for (std::size_t i = 0; i < parts.size(); ++i)
      operands[i] = op == Op::select && i == 0 ? truth(parts[i]) : number(parts[i]);
    return tree_.operation(op, operands);
  }

  static void check_count(const Syntax& syntax, const Function& function) {
    const auto count = static_cast<int>(syntax.parts.size());
    if (count >= function.fewest && count <= function.most) return;
    const std::string wanted = function.fewest == function.most
                                   ? fmt::format("{}", function.most)
                                   : fmt::format("{} or {}", function.fewest, function.most);
    refuse_at(syntax, "{}() takes {} argument{}, not {}", function.name, wanted,
              wanted == "1" ? "" : "s", count);
  }

  Ref noise(const Syntax& syntax) {
    if (use_ != Use::initial) refuse_at(syntax, "noise() is for initial values only");
    if (syntax.parts.empty()) return tree_.noise(0);
    const std::optional<int> number = whole_literal(syntax.parts[0], 1'000'000'000);
    if (!number || *number < 0)
      refuse_at(syntax.parts[0], "noise() takes a whole number from 0, which is added to the seed");
    return tree_.noise(*number);
  }

  Ref extreme(bool is_least, const std::vector<Syntax>& parts) {
    const Ref a = number(parts[0]), b = number(parts[1]);
    const Ref is_b_less = tree_.operation(Op::less, is_least ? b : a, is_least ? a : b);
    return tree_.operation(Op::select, is_b_less, b, a);
  }

  /// The axis of ddx, d2dx2.
  int axis_named(const Syntax& syntax, char letter) const {
    const auto axis = static_cast<int>(axis_names.find(letter));
    if (axis >= names_.axes)
      refuse_at(syntax, "{}() needs an axis {}; the problem has {}", syntax.name, letter,
                axes_text());
    return axis;
  }

  static int order_of(const Syntax& syntax) {
    if (syntax.parts.size() < 2) return 2;
    const std::optional<int> order = whole_literal(syntax.parts[1], farthest);
    if (!order || *order < 2 || *order % 2 != 0)
      refuse_at(syntax.parts[1], "the order of {}() is 2, 4, 6 or 8", syntax.name);
    return *order;
  }

  Ref laplace(const Syntax& syntax) {
    Ref sum = difference(syntax, 0, true);
    for (int axis = 1; axis < names_.axes; ++axis) {
      const Ref along = difference(syntax, axis, true);
      sum = tree_.operation(Op::add, sum, along);
    }
    return sum;
  }

  Ref difference(const Syntax& syntax, int axis, bool is_second) {
    const int order = order_of(syntax);
    const Ref of_what = number(syntax.parts[0]);
    const double spacing =
        names_.numbers.at(fmt::format("d{}", axis_names[static_cast<std::size_t>(axis)]));
    const double divisor = is_second ? spacing * spacing : spacing;
    const auto& weights =
        (is_second ? second_weights : first_weights)[static_cast<std::size_t>(order / 2 - 1)];
    const auto weight = [&](int m) {
      const Fraction& fraction = weights[static_cast<std::size_t>(m)];
      return tree_.constant(fraction.above / fraction.below / divisor);
    };
    std::optional<Ref> sum;
    if (is_second) sum = tree_.operation(Op::multiply, weight(0), of_what);
    for (int m = 1; m <= order / 2; ++m) {
      const Ref before = beside(of_what, axis, -m), behind = beside(of_what, axis, m);
      const Ref pair = is_second ? tree_.operation(Op::add, before, behind)
                                 : tree_.operation(Op::subtract, behind, before);
      const Ref term = tree_.operation(Op::multiply, weight(m), pair);
      sum = sum ? tree_.operation(Op::add, *sum, term) : term;
    }
    return *sum;
  }

  Ref beside(Ref node, int axis, int cells) {
    std::array<int, 3> by{};
    by[static_cast<std::size_t>(axis)] = cells;
    return tree_.shifted(node, by);
  }

  static bool is_spacing(std::string_view name) {
    return name == "dx" || name == "dy" || name == "dz";
  }

  bool is_known(const std::string& name) const {
    return names_.numbers.contains(name) || names_.locals.contains(name) || is_reserved(name) ||
           axis_of(index_names, name);
  }

  /// Returns the names that are allowed where another one is used.
  std::vector<std::string> names_like(const Syntax& syntax) const {
    std::vector<std::string> all;
    if (use_ == Use::update) {
      for (const auto& [one, value] : names_.locals) all.push_back(one);
      for (const auto* list : {&names_.fields, &names_.coefficients})
        all.insert(all.end(), list->begin(), list->end());
    }
    if (syntax.kind == Kind::access) return all;
    all.emplace_back("pi");
    for (const auto& [one, value] : names_.numbers) all.push_back(one);
    if (use_ == Use::update || use_ == Use::boundary) all.emplace_back("t");
    for (int axis = 0; axis < names_.axes && use_ != Use::number; ++axis) {
      all.emplace_back(1, axis_names[static_cast<std::size_t>(axis)]);
      all.emplace_back(1, index_names[static_cast<std::size_t>(axis)]);
    }
    return all;
  }

  [[noreturn]] void refuse_name(const Syntax& syntax) const {
    const std::string& name = syntax.name;
    if (const auto why = names_.refused.find(name); why != names_.refused.end())
      refuse_at(syntax, why->second);
    if (function_named(name) != nullptr)
      refuse_at(syntax, "{} is a function: write {}(...)", name, name);
    // A name of another axis: nz, dz.
    if (is_spacing(name) || is_reserved(name))
      refuse_at(syntax, "there is no '{}': the problem has {}", name, axes_text());
    if (name == "dt") refuse_at(syntax, "nothing is named 'dt'; add it under [parameters]");
    if (const std::string advice = advice_on_name(name); !advice.empty())
      refuse_at(syntax, "nothing is named '{}'; {}", name, advice);
    refuse_at(syntax, "nothing is named '{}'{}", name, do_you_mean(name, names_like(syntax)));
  }

  std::string axes_text() const { return counted(names_.axes, "axis"); }

  [[noreturn]] void refuse_function(const Syntax& syntax) const {
    const std::string& name = syntax.name;
    if (symbol_of(name) || names_.locals.contains(name))
      refuse_at(syntax,
                "'{0}' has values in cells and is no function: write {1} for a neighbour, "
                "{0}*(...) to multiply",
                name, neighbour(syntax));
    if (is_known(name) || is_spacing(name))
      refuse_at(syntax, "'{0}' is no function: write {0}*(...) to multiply{1}", name,
                is_spacing(name) ? fmt::format(", d{} for the derivative", name) : "");
    if (const std::string advice = advice_on_function(name); !advice.empty())
      refuse_at(syntax, "there is no function '{}'; {}", name, advice);
    const std::vector<std::string> names = function_names();
    const std::string question = do_you_mean(name, names);
    refuse_at(syntax, "there is no function '{}'{}", name,
              question.empty() ? fmt::format("; there are: {}", fmt::join(names, ", ")) : question);
  }

  /// "u[1,0]", for u(1,0) and u(i+1,j).
  std::string neighbour(const Syntax& call) const {
    std::vector<int> offsets(static_cast<std::size_t>(names_.axes), 0);
    offsets[0] = 1;
    std::vector<int> written;
    for (const Syntax& part : call.parts)
      if (const std::optional<int> offset = offset_in(part)) written.push_back(*offset);
    const bool is_neighbour =
        written.size() == offsets.size() && call.parts.size() == offsets.size();
    return fmt::format("{}[{}]", call.name, fmt::join(is_neighbour ? written : offsets, ","));
  }

  /// -1 for -1 and for i - 1.
  static std::optional<int> offset_in(const Syntax& syntax) {
    const auto is_index = [](const Syntax& one) {
      return one.kind == Kind::name && axis_of(index_names, one.name);
    };
    if (is_index(syntax)) return 0;
    if (syntax.kind != Kind::operation || !is_index(syntax.parts[0]))
      return whole_literal(syntax, farthest);
    const std::optional<int> cells = whole_literal(syntax.parts[1], farthest);
    if (!cells || (syntax.name != "+" && syntax.name != "-")) return std::nullopt;
    return syntax.name == "-" ? -*cells : *cells;
  }

  Tree& tree_;
  const Names& names_;
  const Use use_;
  std::map<std::string, Ref> locals_;
  std::set<std::string> begun_;  // locals
  bool local_is_named_ = false;  // in a mistake
  int level_ = 0;
};

}  // namespace

bool is_reserved(std::string_view name) {
  static const std::set<std::string_view> words{"x",  "y",  "z",  "t",   "axes", "nx",
                                                "ny", "nz", "pi", "and", "or",   "not"};
  return words.contains(name) || function_named(name) != nullptr;
}

Ref condition_of(Tree& tree, const Syntax& syntax, const Names& names, Use use) {
  return Meaning(tree, names, use).truth(syntax);
}

Ref meaning_of(Tree& tree, const Syntax& syntax, const Names& names, Use use) {
  return Meaning(tree, names, use).number(syntax);
}

void check_names(const Syntax& syntax, const Names& names) {
  Tree none;
  Meaning(none, names, Use::update).check_names(syntax);
}

}  // namespace halocline::problem
