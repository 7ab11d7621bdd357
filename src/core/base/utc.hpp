// SPDX-License-Identifier: Apache-2.0
#pragma once
// The time of day, for files that are read elsewhere.

#include <string>

namespace halocline {

/// Returns the time as "2026-01-31T12:00:00Z".
std::string now_in_utc();

}  // namespace halocline
