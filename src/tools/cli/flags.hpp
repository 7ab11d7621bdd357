// SPDX-License-Identifier: Apache-2.0
#pragma once
// Conversion from option names of the libraries to flags of this command.

#include <string>
#include <string_view>

namespace halocline::cli {

/// Replaces option names in a text of the libraries by flags: "set option 'backend' to 'cpu'"
/// becomes "use --backend cpu", "option 'wait_limit'" becomes "--wait-limit".
std::string with_flags(std::string_view text);

}  // namespace halocline::cli
