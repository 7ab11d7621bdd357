// SPDX-License-Identifier: Apache-2.0
#include "field/poison.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/process/environment.hpp"
#include "device/queue.hpp"
#include "grid/halo_regions.hpp"

namespace halocline::field {

bool checks_halos() {
  constexpr const char* variable = "HALOCLINE_CHECK_HALOS";
  const std::string value = environment(variable).value_or("0");
  if (value != "0" && value != "1")
    throw Error(ErrorKind::usage, fmt::format("{} is '{}'; set it to 1 or 0", variable, value));
  return value == "1";
}

void poison_field(const Grid& grid, const FieldShape& shape, const Layout& layout, std::byte* first,
                  std::int64_t bytes) {
  const bool in_place = host_reads(shape.memory);
  std::vector<std::byte> copy(in_place ? 0 : static_cast<std::size_t>(bytes));
  std::byte* const image = in_place ? first : copy.data();
  const auto fill = [&](const Box& box, std::byte with) {
    if (box.empty()) return;
    for (const Run& run : layout.runs(box))
      for (std::int64_t i = 0; i < run.count; ++i)
        std::fill_n(image + run.offset + i * run.stride, run.bytes, with);
  };
  std::fill_n(image, bytes, poison);
  fill(shape.held(), std::byte{0});
  for (const grid::HaloRegion& region :
       grid::halo_regions(grid, grid.rank(), shape.halo, Neighbours::all))
    fill(region.receive, poison);
  if (!in_place) device::copy(first, image, bytes, Stream::host());
}

}  // namespace halocline::field
