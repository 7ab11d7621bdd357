// SPDX-License-Identifier: Apache-2.0
#pragma once
// The node's host name.

#include <string>

namespace halocline {

/// "node17"; empty if the system does not report one.
std::string host_name();

}  // namespace halocline
