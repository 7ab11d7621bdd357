// SPDX-License-Identifier: Apache-2.0
#pragma once
// Expressions as a problem file writes them: parsed, with names not looked up yet.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace halocline::problem {

/// A mistake in the text of an expression, with its place.
class Mistake : public std::runtime_error {
 public:
  Mistake(std::size_t at, std::size_t length, const std::string& what,
          std::optional<std::size_t> opening = std::nullopt)
      : std::runtime_error(what), at_(at), length_(length), opening_(opening) {}
  std::size_t at() const { return at_; }  ///< bytes from the start of the expression
  std::size_t length() const { return length_; }
  /// Where the bracket is that is not closed, if that is the mistake.
  std::optional<std::size_t> opening() const { return opening_; }

 private:
  std::size_t at_, length_;
  std::optional<std::size_t> opening_;
};

/// A node of a parsed expression.
struct Syntax {
  enum class Kind : unsigned char {
    number,
    name,      ///< of a parameter, field, coordinate, ...
    access,    ///< NAME[offsets]
    call,      ///< NAME(parts)
    unary,     ///< `-` or `not`
    operation  ///< of two parts: `^ * / + - < <= > >= == != and or`
  };
  Kind kind = Kind::number;
  std::size_t at = 0, length = 0;  ///< of the node's own word in the text
  int depth = 1;                   ///< of the tree from here down
  double number = 0;
  std::string name = {};  ///< or the operator
  std::vector<Syntax> parts = {};
  std::vector<std::int64_t> offsets = {};  ///< of an access, x first
};

/// The depth of an expression, at most: so that no text can exhaust the stack.
inline constexpr int deepest = 256;
/// The letters of a name that a file gives, at most.
inline constexpr std::size_t most_letters = 64;

// ASCII only, whatever the locale is.
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool begins_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
constexpr bool is_of_name(char c) { return begins_name(c) || is_digit(c); }

/// Parses an expression. From the tightest: `^` (right to left), unary minus, `* /`, `+ -`,
/// comparisons, `not`, `and`, `or`; operators of equal rank from left to right. Throws Mistake.
Syntax parse(std::string_view text);

}  // namespace halocline::problem
