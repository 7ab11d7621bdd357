// SPDX-License-Identifier: Apache-2.0
#include "exchange/face_links.hpp"

#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "comm/collectives.hpp"
#include "device/buffer.hpp"
#include "device/queue.hpp"
#include "exchange/cuda/face_flags.hpp"

namespace halocline::exchange {
namespace {

using link::Window;

// A tile of a sweep has at least 64 cells of a row, but for the first and the last one.
constexpr std::int64_t fewest_cells_of_tile = 64;
constexpr std::int64_t flag_bytes = sizeof(device::Epoch);

/// A rank's data on its window: the offsets of the halos, or of the flags, at its two ends; and the
/// elements from a layer to the next, which must be the neighbour's, too.
constexpr std::size_t layer_step = 2;

std::int64_t tiles_of_layer(const Grid& grid) {
  const Int3 cells = grid.owned().extent();
  return (cells.x / fewest_cells_of_tile + 2) * (grid.axes() > 2 ? cells.y : 1);
}

std::int64_t step_of(const FieldStorage& field, int axis) {
  return axis == 1 ? field.strides().y : field.strides().z;
}

/// Returns the offset of a layer's first owned cell from the field's first byte.
std::int64_t layer_offset(const FieldStorage& field, int axis, std::int64_t layer) {
  return field.first_owned() - field.bytes() +
         (layer - field.shape().owned.lower[axis]) * step_of(field, axis) *
             field.shape().element_bytes;
}

}  // namespace

std::optional<std::string> FaceLinks::unavailable(const Communicator& communicator,
                                                  const Grid& grid, const FieldStorage& level) {
  if (communicator.size() == 1) return "there is only one rank";
  if (communicator.node_count() == communicator.size()) return "every rank is on its own node";
  if (grid.axes() == 1) return "there is only one axis";
  if (level.shape().memory != Memory::device) return "the fields are not in device memory";
  const int last = grid.axes() - 1;
  if (grid.process_grid().values()[last] == 1)
    return fmt::format("the process grid does not split {}", "xyz"[last]);
  return std::nullopt;
}

FaceLinks::FaceLinks(const Communicator& communicator, const Grid& grid,
                     const std::vector<std::reference_wrapper<const FieldStorage>>& levels,
                     const HaloWidths& halo)
    : communicator_(communicator),
      neighbours_(communicator, grid),
      axis_(grid.axes() - 1),
      halo_(halo),
      tiles_(tiles_of_layer(grid)),
      watch_(communicator, "sweep {}",
             [neighbours = neighbours_](int end) {
               return neighbours.name_of(static_cast<End>(end), "halo");
             }),
      swept_(device::allocate(Memory::device, 2 * tiles_ * flag_bytes)),
      flags_(
          communicator, 2 * tiles_ * flag_bytes, neighbours_.peers(),
          std::vector<Window::Offsets>(neighbours_.peers().size(), {0, tiles_ * flag_bytes, 0})) {
  for (const FieldStorage& level : levels) link(level);
  cuda::load_face_flags();
}

void FaceLinks::await(Stream stream) const { cuda::await_all(ports_[0], tiles_, stream); }

void FaceLinks::meet(Stream stream) const { cuda::meet_all(ports_[0], tiles_, stream); }

std::int64_t FaceLinks::halo_at(End end) const {
  return (end == at_lower ? halo_.lower : halo_.upper)[axis_];
}

Window::Offsets FaceLinks::offsets_of(const FieldStorage& field) const {
  const Box& owned = field.shape().owned;
  return {layer_offset(field, axis_, owned.lower[axis_] - halo_at(at_lower)),
          layer_offset(field, axis_, owned.upper[axis_]), step_of(field, axis_)};
}

/// Maps the neighbours' halos of a level and checks that the first row of each works.
void FaceLinks::link(const FieldStorage& field) {
  const Window::Offsets mine = offsets_of(field);
  const std::vector<int> peers = neighbours_.peers();
  // While an error unwinds the stack, neighbours may still store to the field: then it stays.
  std::shared_ptr<void> held(std::make_shared<FieldStorage>(field), field.bytes());
  const Window& level = *levels_.emplace_back(std::make_unique<Window>(
      communicator_, std::move(held), peers, std::vector(peers.size(), mine)));
  comm::together(communicator_, [&] {
    for (std::size_t p = 0; p < peers.size(); ++p)
      if (level.offsets_of(p)[layer_step] != mine[layer_step])
        throw Error(ErrorKind::unavailable,
                    "the neighbours' fields have layers of different sizes");
  });
  const device::FacePort& port = ports_.emplace_back(device::FacePort{
      .lower = side(level, at_lower), .upper = side(level, at_upper), .watch = watch_.on_gpu()});
  std::array<EndMemory, 2> memory;
  for (const End end : ends) {
    memory[end].to = (end == at_lower ? port.lower : port.upper).to;
    if (halo_at(end) > 0) memory[end].from = field.bytes() + mine[end];
  }
  const std::int64_t row_bytes = field.shape().owned.extent().x * field.shape().element_bytes;
  show_ends_to_work(communicator_, neighbours_, memory, row_bytes);
}

device::FaceSide FaceLinks::side(const Window& level, End end) const {
  if (!neighbours_.has(end)) return {};
  const std::size_t peer = neighbours_.peer_of(end);
  const End there = opposite(end);
  const auto layers = static_cast<int>(halo_at(there));
  return {
      .to = layers > 0 ? level.of(peer) + level.offsets_of(peer)[there] : nullptr,
      .layers = layers,
      .raise = reinterpret_cast<device::Epoch*>(flags_.of(peer) + flags_.offsets_of(peer)[there]),
      .raised = reinterpret_cast<const device::Epoch*>(flags_.mine() + end * tiles_ * flag_bytes),
      .swept = static_cast<device::Epoch*>(swept_.get()) + end * tiles_};
}

}  // namespace halocline::exchange
