// SPDX-License-Identifier: Apache-2.0
#pragma once
// The mode that finds programs which read a halo that no exchange has filled: it is filled with
// bytes of which every float and double is a NaN.

#include <cstddef>
#include <cstdint>

#include <halocline/field.hpp>

namespace halocline::field {

inline constexpr std::byte poison{0xff};

/// Returns whether HALOCLINE_CHECK_HALOS asks for that mode. Throws usage unless it is 0, 1 or not
/// set.
bool checks_halos();

/// Fills the halo cells that exchanges can fill of memory that has been zeroed, `bytes` bytes at
/// `first`. The host waits where only a GPU reads the memory.
void poison_halo(const Grid& grid, const FieldShape& shape, const Layout& layout, std::byte* first,
                 std::int64_t bytes);

}  // namespace halocline::field
