// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <string_view>

#include <halocline/array.hpp>
#include <halocline/measure.hpp>

#include "guard.hpp"
#include "handles.hpp"
#include "translate.hpp"

using namespace halocline;
using binding::checked;
using binding::fillable;
using binding::guarded;
using binding::guarded_beside_others;
using binding::made;
using binding::required;

// Version 1. A later one adds members at the end, and earlier_sizes has the size before.
static_assert(sizeof(halocline_field_options) == 144);
static_assert(sizeof(halocline_field_info) == 104);

namespace {

/// A halo that is all as expected stays open, so that an array with more cells is refused.
std::optional<HaloWidths> halo_from(const halocline_widths& given, const Grid& grid) {
  const auto is_open = [](std::int64_t width) { return width == HALOCLINE_AS_EXPECTED; };
  if (std::all_of(given.lower, given.lower + grid.axes(), is_open) &&
      std::all_of(given.upper, given.upper + grid.axes(), is_open))
    return std::nullopt;
  return binding::widths(given, grid.expected_halo());
}

/// Whether CUDA is to tell the memory.
bool is_asked(const halocline_field_options& given) {
  return given.memory != nullptr && std::string_view(given.memory) == "auto";
}

FieldOptions options_from(const halocline_field_options& given, const Grid& grid) {
  FieldOptions options{.name = binding::text(given.name, "the name of the field"),
                       .halo = halo_from(given.halo, grid),
                       .components = given.components,
                       .memory = is_asked(given) ? Memory::host : binding::memory(given.memory)};
  if (given.element_bytes == 0)
    throw Error(ErrorKind::usage,
                "element_bytes of field '" + options.name +
                    "' is not set: set it to the bytes of one value, such as sizeof(double)");
  return options;
}

/// Returns the bytes from the first held cell to the first owned one.
std::int64_t lead_in(const FieldStorage& field) {
  const Strides& step = field.strides();
  const Int3& halo = field.shape().halo.lower;
  return (halo.x * step.x + halo.y * step.y + halo.z * step.z) * field.shape().element_bytes;
}

}  // namespace

halocline_status halocline_field_create(const halocline_grid* grid,
                                        const halocline_field_options* options,
                                        halocline_field** field) {
  return guarded([&] {
    halocline_field*& result = required(field, "the place for the field");
    result = nullptr;
    const halocline_grid& on = made(grid, "grid");
    const halocline_field_options given = checked(options, "halocline_field_options");
    if (is_asked(given))
      throw Error(ErrorKind::usage,
                  "memory 'auto' is for arrays that exist already (halocline_field_wrap): name the "
                  "memory to allocate");
    const FieldStorage storage(on.grid, given.element_bytes, options_from(given, on.grid));
    result = new halocline_field{on, storage, lead_in(storage)};
  });
}

halocline_status halocline_field_wrap(const halocline_grid* grid, void* first,
                                      const halocline_field_options* options,
                                      halocline_field** field) {
  return guarded([&] {
    halocline_field*& result = required(field, "the place for the field");
    result = nullptr;
    const halocline_grid& on = made(grid, "grid");
    const halocline_field_options given = checked(options, "halocline_field_options");
    std::byte& cells = required(static_cast<std::byte*>(first), "the array");
    FieldOptions wanted = options_from(given, on.grid);
    if (is_asked(given)) wanted.memory = memory_at(&cells);
    const ArrayPlace place = place_in_array(
        on.grid, wanted,
        {binding::int3(given.extents), binding::int3(given.strides), given.component_stride});
    const std::int64_t lead = place.first_owned * given.element_bytes;
    const RawCells raw{&cells + lead, place.strides, given.element_bytes};
    result = new halocline_field{on, FieldStorage(on.grid, raw, wanted), lead};
  });
}

halocline_status halocline_field_destroy(halocline_field** field) {
  return binding::destroy(field, "the address of the field");
}

halocline_status halocline_field_get_info(const halocline_field* field,
                                          halocline_field_info* info) {
  return guarded_beside_others([&] {
    const FieldStorage& its = made(field, "field").storage;
    halocline_field_info& answer = fillable(info, "halocline_field_info");
    const Strides& step = its.strides();
    answer.first = its.first_owned() - lead_in(its);
    answer.first_owned = its.first_owned();
    binding::put({step.x, step.y, step.z}, answer.strides);
    answer.component_stride = step.component;
    answer.held = binding::box(its.shape().held());
  });
}

halocline_status halocline_field_noise(halocline_field* field, std::uint64_t seed) {
  return guarded([&] {
    const halocline_field& its = made(field, "field");
    fill_noise(its.on.communicator, its.on.grid, its.storage, seed);
  });
}

halocline_status halocline_field_checksum(const halocline_field* field, std::uint64_t* checksum) {
  return guarded([&] {
    const halocline_field& its = made(field, "field");
    std::uint64_t& answer = required(checksum, "the place for the checksum");
    answer = halocline::checksum(its.on.communicator, its.on.grid, its.storage);
  });
}

halocline_status halocline_field_sum(const halocline_field* field, double* sum) {
  return guarded([&] {
    const halocline_field& its = made(field, "field");
    double& answer = required(sum, "the place for the sum");
    answer = halocline::sum(its.on.communicator, its.on.grid, its.storage);
  });
}
