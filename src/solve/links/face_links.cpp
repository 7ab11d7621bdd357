// SPDX-License-Identifier: Apache-2.0
#include "links/face_links.hpp"

#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "device/buffer.hpp"
#include "links/cuda/face_flags.hpp"

namespace halocline::links {
namespace {

// A tile of a sweep has at least 64 cells of a row, but for the first and the last one.
constexpr std::int64_t fewest_cells_of_tile = 64;
constexpr std::int64_t flag_bytes = sizeof(device::Epoch);

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

bool all_are_linked(const Communicator& communicator, const Grid& grid) {
  if (communicator.node_count() > 1) return false;
  for (int axis = 0; axis + 1 < grid.axes(); ++axis)
    if (grid.process_grid().values()[axis] > 1 || grid.periodic(axis)) return false;
  return true;
}

exchange::PartFilter not_linked(const Communicator& communicator, const Grid& grid) {
  return [communicator, last = grid.axes() - 1](const Direction& direction, int peer) {
    Direction across;
    across[last] = direction[last];
    return !(direction == across) ||
           communicator.node_of(peer) != communicator.node_of(communicator.rank());
  };
}

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
    : neighbours_(communicator, grid),
      axis_(grid.axes() - 1),
      halo_(halo),
      tiles_(tiles_of_layer(grid)),
      watch_(neighbours_.watch("halo")),
      swept_(device::allocate(Memory::device, 2 * tiles_ * flag_bytes)),
      flags_(neighbours_, 2 * tiles_ * flag_bytes, {0, tiles_ * flag_bytes, 0}) {
  for (const FieldStorage& level : levels) link(level);
  cuda::load_face_flags();
}

void FaceLinks::await(Stream stream) const { cuda::await_all(ports_[0], tiles_, stream); }

void FaceLinks::meet(Stream stream) const { cuda::meet_all(ports_[0], tiles_, stream); }

std::int64_t FaceLinks::halo_at(End end) const {
  return (end == at_lower ? halo_.lower : halo_.upper)[axis_];
}

/// Maps the neighbours' halos of a level and checks that the first row of each works.
void FaceLinks::link(const FieldStorage& field) {
  const Box& owned = field.shape().owned;
  // While an error unwinds the stack, neighbours may still store to the field: then it stays.
  std::shared_ptr<void> held(std::make_shared<FieldStorage>(field), field.bytes());
  const link::Window::Offsets offsets{
      layer_offset(field, axis_, owned.lower[axis_] - halo_at(at_lower)),
      layer_offset(field, axis_, owned.upper[axis_]), step_of(field, axis_)};
  const EndLink& level =
      *levels_.emplace_back(std::make_unique<EndLink>(neighbours_, std::move(held), offsets));
  ports_.push_back(
      {.lower = side(level, at_lower), .upper = side(level, at_upper), .watch = watch_.on_gpu()});
  level.show_to_work(owned.extent().x * field.shape().element_bytes,
                     {halo_at(at_lower) > 0, halo_at(at_upper) > 0});
}

device::FaceSide FaceLinks::side(const EndLink& level, End end) const {
  if (!neighbours_.has(end)) return {};
  const auto layers = static_cast<int>(halo_at(opposite(end)));
  return {.to = layers > 0 ? level.to(end) : nullptr,
          .layers = layers,
          .raise = reinterpret_cast<device::Epoch*>(flags_.to(end)),
          .raised = reinterpret_cast<const device::Epoch*>(flags_.from(end)),
          .swept = static_cast<device::Epoch*>(swept_.get()) + end * tiles_};
}

}  // namespace halocline::links
