// SPDX-License-Identifier: Apache-2.0
#pragma once
// Refusals of invalid requests.

#include <string>
#include <utility>

#include <fmt/format.h>

#include <halocline/error.hpp>

namespace halocline {

/// Throws an Error of kind usage. `text` gives the request, with values, and what to do.
[[noreturn]] inline void refuse(const std::string& text) { throw Error(ErrorKind::usage, text); }

/// The same for a text with values.
template <class First, class... Rest>
[[noreturn]] void refuse(fmt::format_string<First, Rest...> text, First&& first, Rest&&... rest) {
  refuse(fmt::format(text, std::forward<First>(first), std::forward<Rest>(rest)...));
}

}  // namespace halocline
