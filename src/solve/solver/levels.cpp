// SPDX-License-Identifier: Apache-2.0
#include "solver/levels.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "device/queue.hpp"
#include "files/npy.hpp"
#include "stencil/fill.hpp"

namespace halocline::solver {
namespace {

bool host_uses(Memory memory) { return host_reads(memory) && memory != Memory::managed; }

FieldStorage make_twin(const FieldStorage& field, const Case& the_case, const Grid& grid) {
  return make_level(the_case, grid, field.shape().halo.lower[0], Memory::host);
}

/// Copies all bytes, padding included: fields of one shape have the same layout.
void copy_all(const FieldStorage& to, const FieldStorage& from) {
  device::copy(to.bytes(), from.bytes(), from.allocated_bytes(), Stream::host());
}

}  // namespace

double bytes_of_level(const Case& the_case, const Grid& grid) {
  const Int3 owned = grid.owned().extent();
  double cells = 1;
  for (int axis = 0; axis < grid.axes(); ++axis)
    cells *= static_cast<double>(owned[axis]) + 2 * static_cast<double>(the_case.halo_depth);
  return cells * static_cast<double>(the_case.element_bytes());
}

FieldStorage make_level(const Case& the_case, const Grid& grid, std::int64_t halo_width,
                        Memory memory) {
  const FieldOptions options{.name = "u", .halo = halo_width, .memory = memory};
  if (the_case.precision == problem::Precision::f32) return Field<float>(grid, options);
  return Field<double>(grid, options);
}

Levels make_levels(const Case& the_case, const Grid& grid, std::int64_t halo_width, Memory memory) {
  return {make_level(the_case, grid, halo_width, memory),
          make_level(the_case, grid, halo_width, memory)};
}

void fill_levels(const Case& the_case, const Grid& grid, Levels& levels,
                 const Communicator& communicator, int threads) {
  const bool directly = host_uses(levels[0].shape().memory);
  Levels filled = levels;
  if (!directly) filled.fill(make_twin(levels[0], the_case, grid));
  // Both levels, so that the thread that sweeps a page touches it first.
  for (std::size_t level = 0; level < (directly ? 2 : 1); ++level)
    stencil::fill_start(filled[level], *the_case.problem, the_case.setting, threads);
  if (the_case.initial) files::read_npy(communicator, grid, filled[0], *the_case.initial);
  for (std::size_t level = 0; level < (directly ? 2 : 1); ++level)
    stencil::fill_boundary(filled[level], grid, *the_case.problem, the_case.setting);
  if (directly) return;
  for (const FieldStorage& level : levels) copy_all(level, filled[0]);
}

void fill_with_noise(const FieldStorage& field, Stream stream) {
  const std::int64_t bytes = field.allocated_bytes();
  const auto block = [&]<class Real>(Real) {
    std::vector<Real> values(std::size_t{1} << 16);
    std::uint32_t state = 1;  // linear congruential generator: any noise will do
    for (Real& value : values)
      value = static_cast<Real>((state = state * 1664525u + 1013904223u) >> 8) / Real{1 << 24};
    const auto block_bytes = static_cast<std::int64_t>(values.size() * sizeof(Real));
    device::copy(field.bytes(), values.data(), std::min(block_bytes, bytes), stream);
    return block_bytes;
  };
  std::int64_t done = field.shape().element_bytes == sizeof(float) ? block(0.0f) : block(0.0);
  for (; done < bytes; done *= 2)
    device::copy(field.bytes() + done, field.bytes(), std::min(done, bytes - done), stream);
}

FieldStorage seen_by_host(const FieldStorage& field, const Case& the_case, const Grid& grid) {
  if (host_uses(field.shape().memory)) return field;
  FieldStorage twin = make_twin(field, the_case, grid);
  copy_all(twin, field);
  return twin;
}

}  // namespace halocline::solver
