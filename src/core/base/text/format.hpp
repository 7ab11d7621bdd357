// SPDX-License-Identifier: Apache-2.0
#pragma once
// Formats for numbers in text.

#include <string>
#include <utility>

namespace halocline {

/// The format of a number in text; JSON has the value itself.
struct Format {
  enum class Style {
    general,     ///< significant digits, trailing zeros dropped
    rate,        ///< significant digits, trailing zeros kept, so that columns line up
    scientific,  ///< d.ddde+xx
    bytes,       ///< B, KiB, MiB, ..., trailing zeros dropped: 64 KiB
    time         ///< ns, us, ms or s, by size unless `unit` names one
  };
  Style style = Style::general;
  int digits = 6;  ///< significant
  std::string unit = {};
  double seconds_per_unit = 1;  ///< `time` only: 1e-6 if the value is in microseconds

  static Format general(int digits, std::string unit = {}) {
    return {Style::general, digits, std::move(unit)};
  }
  static Format rate(std::string unit, int digits = 4) {
    return {Style::rate, digits, std::move(unit)};
  }
  static Format scientific(int digits = 4, std::string unit = {}) {
    return {Style::scientific, digits, std::move(unit)};
  }
  static Format bytes(int digits = 3) { return {Style::bytes, digits}; }
  /// For a table: a unit that followed the values would change from one run to the next.
  static Format time_in(std::string unit, double seconds_per_unit = 1, int digits = 3) {
    return {Style::time, digits, std::move(unit), seconds_per_unit};
  }
  static Format time(double seconds_per_unit = 1, int digits = 3) {
    return {Style::time, digits, {}, seconds_per_unit};
  }
};

/// A unit for readable numbers, and the factor that converts a value to it.
struct Scale {
  double factor = 1;
  std::string unit;
};

/// Chooses one scale for a group of values, the largest of which (in magnitude) is `largest`.
Scale choose_scale(double largest, const Format& format);

/// Writes `value` in the unit of `scale`, without the unit.
std::string write_digits(double value, const Format& format, const Scale& scale);

/// Writes a number with its unit: "12.30 GLUP/s", "1.5 MiB", "312 us".
std::string write_number(double value, const Format& format);

/// Writes a number of microseconds: "3.2 us", "1.5 ms".
inline std::string us_text(double us) { return write_number(us, Format::time(1e-6)); }

/// Writes a number of bytes: "64 KiB", "1.5 MiB".
inline std::string bytes_text(double bytes) { return write_number(bytes, Format::bytes()); }
inline std::string bytes_text(std::int64_t bytes) { return bytes_text(static_cast<double>(bytes)); }

}  // namespace halocline
