// SPDX-License-Identifier: Apache-2.0
#pragma once
// The mode that finds programs which read a halo that no exchange has filled, or memory between
// rows: they are filled with bytes of which every float and double is a NaN.

#include <cstddef>
#include <cstdint>

#include <halocline/field.hpp>

namespace halocline::field {

inline constexpr std::byte poison{0xff};

/// Returns whether HALOCLINE_CHECK_HALOS asks for that mode. Throws usage unless it is 0, 1 or not
/// set.
bool checks_halos();

/// Fills `bytes` bytes at `first`, which are a field's: the halo cells that exchanges can fill and
/// what belongs to no cell with poison, the other cells with zeros. The host waits where only a GPU
/// reads the memory.
void poison_field(const Grid& grid, const FieldShape& shape, const Layout& layout, std::byte* first,
                  std::int64_t bytes);

}  // namespace halocline::field
