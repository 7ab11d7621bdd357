// SPDX-License-Identifier: Apache-2.0
#pragma once
// Standard output.

#include <string>

namespace halocline::cli {

/// Prints and flushes. Throws resource if nobody takes it: a full disk behind a redirection.
void print(const std::string& text);

}  // namespace halocline::cli
