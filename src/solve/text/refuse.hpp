// SPDX-License-Identifier: Apache-2.0
#pragma once
// Refusals of invalid requests.

#include <string>

#include <halocline/error.hpp>

namespace halocline {

/// Throws an Error of kind usage. `text` gives the request, with values, and what to do.
[[noreturn]] inline void refuse(const std::string& text) { throw Error(ErrorKind::usage, text); }

}  // namespace halocline
