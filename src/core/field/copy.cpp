// SPDX-License-Identifier: Apache-2.0
#include "field/copy.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "field/cells.hpp"
#include "field/elements.hpp"

namespace halocline::field {

void copy_on_host(const FieldStorage& from, const FieldStorage& to, const Box& box) {
  with_real(from, [&]<class Real>() {
    const BrickView<Real> source = cells_of<Real>(from), goal = cells_of<Real>(to);
    const bool by_rows =
        from.as_strided() && to.as_strided() && from.strides().x == 1 && to.strides().x == 1;
    for (std::int64_t z = box.lower.z; z < box.upper.z; ++z)
      for (std::int64_t y = box.lower.y; y < box.upper.y; ++y) {
        if (by_rows)
          std::memcpy(&goal(box.lower.x, y, z), &source(box.lower.x, y, z),
                      static_cast<std::size_t>(box.extent().x) * sizeof(Real));
        else
          for (std::int64_t x = box.lower.x; x < box.upper.x; ++x) goal(x, y, z) = source(x, y, z);
      }
  });
}

}  // namespace halocline::field
