// SPDX-License-Identifier: Apache-2.0
#pragma once
// The two renderings of a report.

#include <string>

#include "report/report.hpp"

namespace halocline {

/// Renders text for people: labels and values aligned, at most 100 columns, plain ASCII except for
/// strings from outside. Ends with a newline.
std::string render_text(const Report& report);

/// Renders JSON with "report", the report's key if it has one, and "halocline", the version, before
/// all other keys, in the order of their addition, indented by two; lists and objects of
/// plain values stay on one line where they fit. Doubles read back to the same bits; NaN and
/// infinities are null; bytes that are not UTF-8 become U+FFFD. Ends with a newline. Throws
/// internal if an object has a key twice.
std::string render_json(const Report& report);

}  // namespace halocline
