// SPDX-License-Identifier: Apache-2.0
#pragma once
// `halocline --version`.

#include <string>

namespace halocline::cli {

/// Returns one line.
std::string version_text();

/// Adds the parts of this build that work on this machine, and why others do not.
std::string verbose_version_text();

}  // namespace halocline::cli
