// SPDX-License-Identifier: Apache-2.0
#pragma once
// The date and time in UTC, for files.

#include <string>

namespace halocline {

/// Returns the current time as "2026-01-31T12:00:00Z".
std::string now_in_utc();

}  // namespace halocline
