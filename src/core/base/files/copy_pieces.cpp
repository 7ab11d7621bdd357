// SPDX-License-Identifier: Apache-2.0
#include "base/files/copy_pieces.hpp"

#include <cstring>

namespace halocline {
namespace {

/// Of a size known at compile time.
template <std::size_t bytes>
void copy_short(std::byte* to, std::int64_t to_stride, const std::byte* from,
                std::int64_t from_stride, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    std::memcpy(to + i * to_stride, from + i * from_stride, bytes);
}

}  // namespace

void copy_pieces(std::byte* to, std::int64_t to_stride, const std::byte* from,
                 std::int64_t from_stride, std::int64_t bytes, std::int64_t count) {
  switch (bytes) {
    case 4:
      return copy_short<4>(to, to_stride, from, from_stride, count);
    case 8:
      return copy_short<8>(to, to_stride, from, from_stride, count);
    case 16:
      return copy_short<16>(to, to_stride, from, from_stride, count);
    case 32:
      return copy_short<32>(to, to_stride, from, from_stride, count);
    case 64:
      return copy_short<64>(to, to_stride, from, from_stride, count);
    case 128:
      return copy_short<128>(to, to_stride, from, from_stride, count);
    default:
      for (std::int64_t i = 0; i < count; ++i)
        std::memcpy(to + i * to_stride, from + i * from_stride, static_cast<std::size_t>(bytes));
  }
}

}  // namespace halocline
