// SPDX-License-Identifier: Apache-2.0
#include "base/text/format.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/core.h>

#include <halocline/error.hpp>

namespace halocline {
namespace {

/// Throws internal for a unit that is none of time.
Scale scale_of_unit(const std::string& unit, double seconds_per_unit) {
  for (const auto& [name, per_second] :
       {std::pair("s", 1.0), std::pair("ms", 1e3), std::pair("us", 1e6), std::pair("ns", 1e9)})
    if (unit == name) return {seconds_per_unit * per_second, unit};
  throw Error(ErrorKind::internal, fmt::format("'{}' is no unit of time", unit));
}

Scale scale_of_time(double seconds, double seconds_per_unit) {
  if (seconds >= 1 || seconds == 0) return {seconds_per_unit, "s"};
  if (seconds >= 1e-3) return {seconds_per_unit * 1e3, "ms"};
  if (seconds >= 1e-6) return {seconds_per_unit * 1e6, "us"};
  return {seconds_per_unit * 1e9, "ns"};
}

Scale scale_of_bytes(double bytes) {
  static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double factor = 1;
  std::size_t unit = 0;
  while (bytes * factor >= 1024 && unit + 1 < std::size(units)) {
    factor /= 1024;
    ++unit;
  }
  return {factor, units[unit]};
}

std::string drop_trailing_zeros(std::string text) {
  if (text.find('.') == std::string::npos || text.find('e') != std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

/// Writes in positional notation where that is readable: 12346, not 1.235e+04.
std::string write_significant(double value, int digits) {
  const double size = std::fabs(value);
  if (value == 0 || !std::isfinite(value)) return fmt::format("{}", value);
  if (size < 1e-4 || size >= 1e15) return fmt::format("{:.{}e}", value, digits - 1);
  const int exponent = static_cast<int>(std::floor(std::log10(size)));
  return fmt::format("{:.{}f}", value, std::max(0, digits - 1 - exponent));
}

}  // namespace

Scale choose_scale(double largest, const Format& format) {
  if (!std::isfinite(largest)) largest = 0;
  if (format.style == Format::Style::time && !format.unit.empty())
    return scale_of_unit(format.unit, format.seconds_per_unit);
  if (format.style == Format::Style::time)
    return scale_of_time(largest * format.seconds_per_unit, format.seconds_per_unit);
  if (format.style == Format::Style::bytes) return scale_of_bytes(largest);
  return {1, format.unit};
}

std::string write_digits(double value, const Format& format, const Scale& scale) {
  const double scaled = value * scale.factor;
  const int digits = std::max(1, format.digits);
  switch (format.style) {
    case Format::Style::scientific:
      return fmt::format("{:.{}e}", scaled, digits - 1);
    case Format::Style::rate:
    case Format::Style::time:
      return write_significant(scaled, digits);
    case Format::Style::bytes:
      return scale.factor == 1 ? fmt::format("{:.0f}", scaled)
                               : drop_trailing_zeros(write_significant(scaled, digits));
    case Format::Style::general:
      break;
  }
  return drop_trailing_zeros(write_significant(scaled, digits));
}

std::string write_number(double value, const Format& format) {
  const Scale scale = choose_scale(std::fabs(value), format);
  const std::string digits = write_digits(value, format, scale);
  return scale.unit.empty() ? digits : digits + " " + scale.unit;
}

}  // namespace halocline
