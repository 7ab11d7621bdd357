// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies of many short pieces of memory.

#include <cstddef>
#include <cstdint>

namespace halocline {

/// Copies `count` pieces of `bytes` bytes each, which are a stride apart on each side. A call
/// of memcpy for each would cost more than the copy of a few cells.
void copy_pieces(std::byte* to, std::int64_t to_stride, const std::byte* from,
                 std::int64_t from_stride, std::int64_t bytes, std::int64_t count);

}  // namespace halocline
