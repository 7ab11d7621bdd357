// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the node calls itself.

#include <string>

namespace halocline {

/// "node17"; empty if the system does not tell.
std::string host_name();

}  // namespace halocline
