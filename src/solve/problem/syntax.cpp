// SPDX-License-Identifier: Apache-2.0
#include "problem/syntax.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "problem/characters.hpp"
#include "problem/other_languages.hpp"

namespace halocline::problem {
namespace {

using Kind = Syntax::Kind;

struct Token {
  enum class Kind : unsigned char { number, word, sign, end } kind = Kind::end;
  std::size_t at = 0;
  std::string_view text = {};
  double number = 0;

  bool is(std::string_view sign) const {
    return (kind == Kind::sign || kind == Kind::word) && text == sign;
  }
};

class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text) { next(); }

  const Token& current() const { return current_; }

  Token take() {
    const Token taken = current_;
    next();
    return taken;
  }

  void next() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
    current_ = {.at = at_};
    if (at_ == text_.size()) return;
    const char c = text_[at_];
    if (is_digit(c) || (c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1])))
      number();
    else if (begins_name(c))
      word();
    else
      sign();
  }

 private:
  static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

  void accept(Token::Kind kind, std::size_t length) {
    current_.kind = kind;
    current_.text = text_.substr(at_, length);
    at_ += length;
  }

  void number() {
    const char* const first = text_.data() + at_;
    const auto [end, error] = std::from_chars(first, text_.data() + text_.size(), current_.number);
    const auto length = static_cast<std::size_t>(end - first);
    if (error == std::errc::result_out_of_range)
      throw Mistake(at_, length, "this number does not fit a double");
    accept(Token::Kind::number, length);
    if (at_ < text_.size() && (is_of_name(text_[at_]) || text_[at_] == '.'))
      throw Mistake(at_, 1, "a number ends here; write " + instead_of_rest());
  }

  /// Returns the advice on a number that something follows, such as 1d-3, 1.5f, 1_000, 2u.
  std::string instead_of_rest() const {
    std::string_view rest = text_.substr(at_ + 1);
    const char letter = text_[at_];
    const std::size_t sign = !rest.empty() && (rest[0] == '-' || rest[0] == '+') ? 1 : 0;
    const std::size_t end = std::min(rest.find_first_not_of("0123456789", sign), rest.size());
    const bool is_end = end == rest.size() || !is_of_name(rest[end]);
    if ((letter == 'd' || letter == 'D') && end > sign && is_end)
      return fmt::format("e for the exponent: {}e{}", current_.text, rest.substr(0, end));
    if (std::string_view("fFlL").find(letter) != std::string_view::npos && end == 0 && is_end)
      return fmt::format("it without the {}: {}", letter, current_.text);
    if (letter == '_' && end > 0 && sign == 0) return "digits without _ between them";
    if ((letter == 'x' || letter == 'X') && current_.text == "0") return "decimal digits";
    return "* between it and what follows";
  }

  void word() {
    std::size_t end = at_;
    while (end < text_.size() && is_of_name(text_[end])) ++end;
    accept(Token::Kind::word, end - at_);
  }

  void sign() {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 10> others{
        {{"**", "write ^ for powers"},
         {"//", ""},
         {"<>", "write !="},
         {"=<", "write <="},
         {"=>", "write >="},
         {"&&", "write 'and'"},
         {"||", "write 'or'"},
         {"++", "a formula changes nothing; write + 1"},
         {"+=", "write the new value, as in u = \"u + dt\""},
         {"-=", "write the new value, as in u = \"u - dt\""}}};
    for (const auto& [one, advice] : others)
      if (text_.substr(at_).starts_with(one))
        throw Mistake(
            at_, 2,
            no_sign(fmt::format("'{}'", one), one == "//" ? advice_on_function("floor") : advice));
    constexpr std::array<std::string_view, 16> signs{"<=", ">=", "==", "!=", "+", "-", "*", "/",
                                                     "^",  "<",  ">",  "(",  ")", "[", "]", ","};
    for (const std::string_view one : signs)
      if (text_.substr(at_).starts_with(one)) return accept(Token::Kind::sign, one.size());
    refuse_sign();
  }

  static std::string no_sign(std::string_view sign, std::string_view advice) {
    return fmt::format("an expression has no {}{}{}", sign, advice.empty() ? "" : "; ", advice);
  }

  [[noreturn]] void refuse_sign() const {
    const std::string_view rest = text_.substr(at_);
    const auto c = static_cast<unsigned char>(rest[0]);
    if (c > 0x20 && c < 0x7f)
      throw Mistake(at_, 1, no_sign(fmt::format("'{}'", rest[0]), instead_of(rest[0])));
    const ForeignCharacter foreign = foreign_character(rest);
    if (foreign.name.empty())
      throw Mistake(at_, 1, fmt::format("an expression has no byte {:#04x}", c));
    throw Mistake(at_, 1, no_sign(foreign.name, foreign.advice));
  }

  static std::string instead_of(char sign) {
    switch (sign) {
      case '!':
      case '~':
        return "write 'not'";
      case '=':
        return "write == to compare";
      case '&':
        return "write 'and'";
      case '|':
        return "write 'or' between conditions, abs(...) for a size";
      case '%':
        return advice_on_function("mod");
      case '?':
        return "write select(condition, a, b) for condition ? a : b";
      case '{':
      case '}':
        return "write ( or )";
      case '#':
        return "comments stand outside of the quotes";
      case ';':
        return "parts of a formula have names in [locals]";
      default:
        return "";
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  Token current_;
};

bool is_operator_word(std::string_view word) {
  return word == "and" || word == "or" || word == "not";
}

[[noreturn]] void refuse_depth(std::size_t at, std::size_t length) {
  throw Mistake(at, length,
                fmt::format("an expression is at most {} levels deep; give parts of it names in "
                            "[locals]",
                            deepest));
}

class Parser {
 public:
  explicit Parser(std::string_view text) : tokens_(text) {}

  Syntax whole() {
    Syntax all = disjunction();
    const Token& rest = tokens_.current();
    if (rest.kind == Token::Kind::end) return all;
    check_choice(rest);
    throw Mistake(rest.at, rest.text.size(),
                  fmt::format("an operator or the end is expected, not '{}'{}", rest.text,
                              begins_value(rest) ? "; write * to multiply" : ""));
  }

 private:
  static bool begins_value(const Token& token) {
    return token.kind == Token::Kind::number || token.is("(") ||
           (token.kind == Token::Kind::word && !is_operator_word(token.text));
  }

  /// Refuses "a if condition else b", at what follows a, and "if condition".
  static void check_choice(const Token& token) {
    if (token.is("if") || token.is("then") || token.is("else"))
      throw Mistake(token.at, token.text.size(),
                    "write select(condition, a, b) for a choice: a if the condition holds, else b");
  }

  /// Counts the nesting of this class's functions.
  class Level {
   public:
    explicit Level(Parser& parser) : parser_(parser) {
      if (++parser_.depth_ > deepest) refuse_depth(parser_.tokens_.current().at, 1);
    }
    ~Level() { --parser_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Parser& parser_;
  };

  template <class Operand>
  Syntax left_to_right(std::initializer_list<std::string_view> signs, Operand operand) {
    Syntax left = operand();
    for (;;) {
      const Token& sign = tokens_.current();
      if (std::none_of(signs.begin(), signs.end(),
                       [&](std::string_view one) { return sign.is(one); }))
        return left;
      const Token taken = tokens_.take();
      left = joined(taken, std::move(left), operand());
    }
  }

  static void add(Syntax& node, Syntax part) {
    node.depth = std::max(node.depth, part.depth + 1);
    if (node.depth > deepest) refuse_depth(node.at, node.length);
    node.parts.push_back(std::move(part));
  }

  static Syntax joined(const Token& sign, Syntax left, Syntax right) {
    Syntax node{.kind = Kind::operation,
                .at = sign.at,
                .length = sign.text.size(),
                .name = std::string(sign.text)};
    add(node, std::move(left));
    add(node, std::move(right));
    return node;
  }

  Syntax disjunction() {
    const Level level(*this);
    return left_to_right({"or"}, [this] { return conjunction(); });
  }
  Syntax conjunction() {
    return left_to_right({"and"}, [this] { return negation(); });
  }
  Syntax negation() {
    if (!tokens_.current().is("not")) return comparison();
    const Level level(*this);
    const Token sign = tokens_.take();
    return prefixed(sign, negation());
  }
  Syntax comparison() {
    return left_to_right({"<", "<=", ">", ">=", "==", "!="}, [this] { return sum(); });
  }
  Syntax sum() {
    return left_to_right({"+", "-"}, [this] { return product(); });
  }
  Syntax product() {
    return left_to_right({"*", "/"}, [this] { return signed_power(); });
  }
  Syntax signed_power() {
    if (tokens_.current().is("+"))
      throw Mistake(tokens_.current().at, 1, "a value is expected; leave the + out");
    if (!tokens_.current().is("-")) return power();
    const Level level(*this);
    const Token sign = tokens_.take();
    return prefixed(sign, signed_power());
  }
  Syntax power() {
    Syntax base = primary();
    if (!tokens_.current().is("^")) return base;
    const Level level(*this);
    const Token sign = tokens_.take();
    return joined(sign, std::move(base), signed_power());
  }

  static Syntax prefixed(const Token& sign, Syntax operand) {
    Syntax node{.kind = Kind::unary,
                .at = sign.at,
                .length = sign.text.size(),
                .name = std::string(sign.text)};
    add(node, std::move(operand));
    return node;
  }

  Syntax primary() {
    const Token& token = tokens_.current();
    if (token.is("(")) return parenthesis();
    if (token.kind == Token::Kind::number) {
      const Token taken = tokens_.take();
      return {.at = taken.at, .length = taken.text.size(), .number = taken.number};
    }
    if (token.kind == Token::Kind::word && !is_operator_word(token.text)) return named();
    if (token.kind == Token::Kind::end)
      throw Mistake(token.at, 1, "the expression ends where a value is expected");
    throw Mistake(token.at, token.text.size(),
                  fmt::format("a value is expected, not '{}'", token.text));
  }

  Syntax parenthesis() {
    const Token open = tokens_.take();
    Syntax inside = disjunction();
    close(")", open);
    return inside;
  }

  void close(std::string_view sign, const Token& open) {
    const Token& token = tokens_.current();
    if (token.is(sign)) return tokens_.next();
    check_choice(token);
    const bool is_product = begins_value(token) && open.is("(");
    throw Mistake(token.at, std::max<std::size_t>(1, token.text.size()),
                  is_product ? fmt::format("write * before '{}' to multiply, or '{}' for the '{}'",
                                           token.text, sign, open.text)
                             : fmt::format("'{}' is expected, for the '{}'", sign, open.text),
                  open.at);
  }

  Syntax named() {
    const Token name = tokens_.take();
    Syntax node{.kind = Kind::name,
                .at = name.at,
                .length = name.text.size(),
                .name = std::string(name.text)};
    if (tokens_.current().is("[")) return access(std::move(node));
    if (tokens_.current().is("(")) return call(std::move(node));
    if (begins_value(tokens_.current())) check_choice(name);
    return node;
  }

  Syntax call(Syntax node) {
    node.kind = Kind::call;
    const Token open = tokens_.take();
    if (tokens_.current().is(")")) {
      tokens_.next();
      return node;
    }
    for (;;) {
      add(node, disjunction());
      if (!tokens_.current().is(",")) break;
      tokens_.next();
    }
    close(")", open);
    return node;
  }

  Syntax access(Syntax node) {
    node.kind = Kind::access;
    const Token open = tokens_.take();
    for (;;) {
      node.offsets.push_back(offset());
      if (!tokens_.current().is(",")) break;
      tokens_.next();
    }
    close("]", open);
    return node;
  }

  std::int64_t offset() {
    const bool is_negative = tokens_.current().is("-");
    if (is_negative || tokens_.current().is("+")) tokens_.next();
    const Token token = tokens_.take();
    std::int64_t cells = 0;
    const char* const end = token.text.data() + token.text.size();
    const auto [read, error] = std::from_chars(token.text.data(), end, cells);
    if (token.kind == Token::Kind::number && read == end && error == std::errc::result_out_of_range)
      throw Mistake(token.at, token.text.size(), "this offset does not fit 64 bits");
    if (token.kind != Token::Kind::number || read != end) {
      const bool is_index = token.is("i") || token.is("j") || token.is("k");
      throw Mistake(token.at, std::max<std::size_t>(1, token.text.size()),
                    is_index ? "an offset counts from the cell itself: write u[1,0] for u[i+1,j]"
                             : "an offset is a whole number of cells, as in u[-1,0]");
    }
    return is_negative ? -cells : cells;
  }

  Tokens tokens_;
  int depth_ = 0;
};

}  // namespace

Syntax parse(std::string_view text) { return Parser(text).whole(); }

}  // namespace halocline::problem
