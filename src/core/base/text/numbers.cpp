// SPDX-License-Identifier: Apache-2.0
#include "base/text/numbers.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include <halocline/error.hpp>

namespace halocline {
namespace {

[[noreturn]] void refuse_number(std::string_view what, std::string_view word,
                                const std::string& why) {
  throw Error(ErrorKind::usage, fmt::format("{} '{}' {}", what, word, why));
}

/// Takes the digits off the front of a text.
std::string_view take_digits(std::string_view& text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view digits = text.substr(0, end);
  text.remove_prefix(end);
  return digits;
}

bool take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

/// A decimal number before it is known to be whole, or to fit any type: digits times 10^exponent
/// times factor.
struct Decimal {
  bool is_negative = false;
  std::string digits;
  std::int64_t exponent = 0;
  std::uint64_t factor = 1;
};

/// The digits behind an "e". Exponents that fit no integer are far beyond any number here.
std::optional<std::int64_t> take_exponent(std::string_view& text) {
  const bool is_negative = take(text, "-");
  if (!is_negative) take(text, "+");
  const std::string_view digits = take_digits(text);
  if (digits.empty()) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  constexpr std::int64_t beyond = 1'000'000;
  if (error != std::errc{} || value > beyond) value = beyond;
  return is_negative ? -value : value;
}

std::optional<Decimal> decimal_in(std::string_view text) {
  Decimal decimal;
  decimal.is_negative = take(text, "-");
  decimal.digits = take_digits(text);
  if (decimal.digits.empty()) return std::nullopt;
  if (take(text, ".")) {
    const std::string_view fraction = take_digits(text);
    if (fraction.empty()) return std::nullopt;
    decimal.digits += fraction;
    decimal.exponent = -static_cast<std::int64_t>(fraction.size());
  }
  if (take(text, "e") || take(text, "E")) {
    const std::optional<std::int64_t> exponent = take_exponent(text);
    if (!exponent) return std::nullopt;
    decimal.exponent += *exponent;
  }
  if (take(text, "Ki"))
    decimal.factor = std::uint64_t{1} << 10;
  else if (take(text, "Mi"))
    decimal.factor = std::uint64_t{1} << 20;
  else if (take(text, "Gi"))
    decimal.factor = std::uint64_t{1} << 30;
  if (!text.empty()) return std::nullopt;
  return decimal;
}

/// Moves zeros at the end of the digits into the exponent, and drops those at the front.
void normalize(Decimal& decimal) {
  std::string& digits = decimal.digits;
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  while (!digits.empty() && digits.back() == '0') {
    digits.pop_back();
    ++decimal.exponent;
  }
  if (digits.empty()) decimal.exponent = 0;
}

/// Nothing beyond 64 bits. For a whole number, normalized.
std::optional<std::uint64_t> magnitude_of(const Decimal& decimal) {
  std::uint64_t value = 0;
  const auto multiply = [&value](std::uint64_t by) {
    return !__builtin_mul_overflow(value, by, &value);
  };
  for (const char digit : decimal.digits)
    if (!multiply(10) ||
        __builtin_add_overflow(value, static_cast<std::uint64_t>(digit - '0'), &value))
      return std::nullopt;
  for (std::int64_t i = 0; i < decimal.exponent; ++i)
    if (!multiply(10)) return std::nullopt;
  if (!multiply(decimal.factor)) return std::nullopt;
  return value;
}

}  // namespace

std::uint64_t read_whole_within(std::string_view word, std::string_view what,
                                const WholeBounds& bounds) {
  if (word.empty())
    refuse_number(what, word, "is empty; give a whole number, such as 100, 1e6 or 64Ki");
  std::optional<Decimal> decimal = decimal_in(word);
  if (decimal) normalize(*decimal);
  if (!decimal || decimal->exponent < 0)
    refuse_number(what, word, "is not a whole number; write digits, such as 100, 1e6 or 64Ki");
  const std::optional<std::uint64_t> magnitude = magnitude_of(*decimal);
  const auto least = static_cast<std::uint64_t>(bounds.least);
  const bool is_too_small = decimal->is_negative
                                ? magnitude != 0 && (bounds.least >= 0 || !magnitude ||
                                                     *magnitude > std::uint64_t{0} - least)
                                : bounds.least > 0 && magnitude && *magnitude < least;
  if (is_too_small)
    refuse_number(what, word, fmt::format("is out of range; use at least {}", bounds.least));
  if (!decimal->is_negative && (!magnitude || *magnitude > bounds.most))
    refuse_number(what, word, fmt::format("is out of range; use at most {}", bounds.most));
  return decimal->is_negative ? std::uint64_t{0} - *magnitude : *magnitude;
}

double read_number(std::string_view word, std::string_view what) {
  if (word.empty()) refuse_number(what, word, "is empty; give a number, such as 0.5 or 1e-6");
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  const bool is_all = end == word.data() + word.size();
  if (error == std::errc::result_out_of_range && is_all)
    refuse_number(
        what, word,
        fmt::format("is out of range; use 0, or a size from {:.3g} to {:.3g}",
                    std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::max()));
  if (error != std::errc{} || !is_all || !std::isfinite(value))
    refuse_number(what, word, "is not a finite number; write it as 0.5 or 1e-6");
  return value;
}

}  // namespace halocline
