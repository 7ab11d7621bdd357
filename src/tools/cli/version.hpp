// SPDX-License-Identifier: Apache-2.0
#pragma once
// `halocline --version`.

#include <string>

namespace halocline::cli {

/// One line.
std::string version_text();

/// Also what of this build can be used on this machine, and why not the rest.
std::string verbose_version_text();

}  // namespace halocline::cli
