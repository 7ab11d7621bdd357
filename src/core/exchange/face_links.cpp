// SPDX-License-Identifier: Apache-2.0
#include "exchange/face_links.hpp"

#include <vector>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "comm/collectives.hpp"
#include "device/buffer.hpp"
#include "device/queue.hpp"

namespace halocline::exchange {
namespace {

using link::Window;

// A warp of a sweep handles 32 vectors of 16 bytes of a row.
constexpr std::int64_t fewest_cells_of_warp = 64;
constexpr std::int64_t flag_bytes = sizeof(device::Epoch);

/// A rank's data on its window: the offsets of the halo layers, or of the flags, at its two ends;
/// and the parts of its layout that must equal the neighbour's.
constexpr std::size_t row_step = 2;

std::int64_t warps_of_layer(const Grid& grid) {
  const Int3 cells = grid.owned().extent();
  return (cells.x / fewest_cells_of_warp + 2) * (grid.axes() > 2 ? cells.y : 1);
}

/// Returns the offset of a layer's first owned cell from the field's first byte.
std::int64_t layer_offset(const FieldStorage& field, int axis, std::int64_t layer) {
  const std::int64_t step = axis == 1 ? field.strides().y : field.strides().z;
  return field.first_owned() - field.bytes() +
         (layer - field.shape().owned.lower[axis]) * step * field.shape().element_bytes;
}

Window::Offsets offsets_of(const FieldStorage& field, int axis) {
  const Box& owned = field.shape().owned;
  return {layer_offset(field, axis, owned.lower[axis] - 1),
          layer_offset(field, axis, owned.upper[axis]), field.strides().y};
}

}  // namespace

std::optional<std::string> FaceLinks::unavailable(const Communicator& communicator,
                                                  const Grid& grid, const FieldStorage& level) {
  if (communicator.size() == 1) return "there is only one rank";
  if (communicator.node_count() == communicator.size()) return "every rank is on its own node";
  if (grid.axes() == 1) return "there is only one axis";
  if (level.shape().memory != Memory::device) return "the fields are not in device memory";
  for (int axis = 0; axis + 1 < grid.axes(); ++axis)
    if (grid.process_grid().values()[axis] > 1 || grid.periodic(axis))
      return fmt::format("halos are also exchanged along {}", "xyz"[axis]);
  return std::nullopt;
}

FaceLinks::FaceLinks(const Communicator& communicator, const Grid& grid,
                     const std::array<std::reference_wrapper<const FieldStorage>, 2>& levels)
    : communicator_(communicator),
      neighbours_(communicator, grid),
      axis_(grid.axes() - 1),
      warps_(warps_of_layer(grid)),
      watch_(communicator, "sweep {}",
             [neighbours = neighbours_](int end) {
               return neighbours.name_of(static_cast<End>(end), "halo");
             }),
      swept_(device::allocate(Memory::device, 2 * warps_ * flag_bytes)),
      flags_(
          communicator, 2 * warps_ * flag_bytes, neighbours_.peers(),
          std::vector<Window::Offsets>(neighbours_.peers().size(), {0, warps_ * flag_bytes, 0})) {
  for (std::size_t level = 0; level < levels.size(); ++level) link(level, levels[level]);
}

/// Maps the neighbours' halos of a level and checks that the first row of each works.
void FaceLinks::link(std::size_t level, const FieldStorage& field) {
  const Window::Offsets mine = offsets_of(field, axis_);
  const std::vector<int> peers = neighbours_.peers();
  levels_[level] = std::make_unique<Window>(communicator_, field.bytes(), peers,
                                            std::vector(peers.size(), mine));
  comm::together(communicator_, [&] {
    for (std::size_t p = 0; p < peers.size(); ++p)
      if (levels_[level]->offsets_of(p)[row_step] != mine[row_step])
        throw Error(ErrorKind::unavailable,
                    "the neighbours' fields have rows of different lengths");
  });
  ports_[level] = {
      .lower = side(level, at_lower), .upper = side(level, at_upper), .watch = watch_.on_gpu()};
  std::array<EndMemory, 2> memory;
  for (const End end : ends)
    memory[end] = {.to = (end == at_lower ? ports_[level].lower : ports_[level].upper).to,
                   .from = field.bytes() + mine[end]};
  const std::int64_t row_bytes = field.shape().owned.extent().x * field.shape().element_bytes;
  show_ends_to_work(communicator_, neighbours_, memory, row_bytes);
}

device::FaceSide FaceLinks::side(std::size_t level, End end) const {
  if (!neighbours_.has(end)) return {};
  const std::size_t peer = neighbours_.peer_of(end);
  const End there = opposite(end);
  const Window& theirs = *levels_[level];
  return {
      .to = theirs.of(peer) + theirs.offsets_of(peer)[there],
      .raise = reinterpret_cast<device::Epoch*>(flags_.of(peer) + flags_.offsets_of(peer)[there]),
      .raised = reinterpret_cast<const device::Epoch*>(flags_.mine() + end * warps_ * flag_bytes),
      .swept = static_cast<device::Epoch*>(swept_.get()) + end * warps_};
}

}  // namespace halocline::exchange
