// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pages of the host's memory.

#include <unistd.h>

#include <cstdint>

namespace halocline {

/// Returns the bytes of a page, other than a huge one: 4096 on x86-64, up to 65536 elsewhere.
inline std::int64_t page_bytes() { return sysconf(_SC_PAGESIZE); }

}  // namespace halocline
