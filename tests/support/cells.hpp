// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <halocline/box.hpp>

namespace halocline::test {

/// Calls `use` for every cell of a box, x fastest.
template <class Use>
void for_each_cell(const Box& box, Use&& use) {
  for (std::int64_t z = box.lower.z; z < box.upper.z; ++z)
    for (std::int64_t y = box.lower.y; y < box.upper.y; ++y)
      for (std::int64_t x = box.lower.x; x < box.upper.x; ++x) use(Int3{x, y, z});
}

}  // namespace halocline::test
