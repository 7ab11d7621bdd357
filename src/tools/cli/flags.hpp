// SPDX-License-Identifier: Apache-2.0
#pragma once
// Names of options: those of the libraries, which programs set, and the flags of this command.

#include <string>
#include <string_view>

namespace halocline::cli {

/// Returns a text of the libraries with flags for the options that it names: "set option 'backend'
/// to 'cpu'" becomes "use --backend cpu", "option 'wait_limit'" becomes "--wait-limit".
std::string with_flags(std::string_view text);

}  // namespace halocline::cli
