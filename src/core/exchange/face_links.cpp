// SPDX-License-Identifier: Apache-2.0
#include "exchange/face_links.hpp"

#include <cstring>
#include <vector>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "comm/collectives.hpp"
#include "device/buffer.hpp"
#include "device/queue.hpp"

namespace halocline::exchange {
namespace {

using transport::PeerWindow;

// A warp of a sweep takes 32 vectors of 16 bytes of a row.
constexpr std::int64_t fewest_cells_of_warp = 64;
constexpr std::int64_t flag_bytes = sizeof(device::Epoch);

/// Of what a rank tells of its window: the halo layers, or the flags, at its two ends; and what of
/// its layout must be as its neighbour's.
enum { at_lower, at_upper, row_step };

std::int64_t warps_of_layer(const Grid& grid) {
  const Int3 cells = grid.owned().extent();
  return (cells.x / fewest_cells_of_warp + 2) * (grid.axes() > 2 ? cells.y : 1);
}

/// Where the owned cells' column of a layer begins, from the field's first byte.
std::int64_t layer_offset(const FieldStorage& field, int axis, std::int64_t layer) {
  const std::int64_t step = axis == 1 ? field.strides().y : field.strides().z;
  return field.first_owned() - field.bytes() +
         (layer - field.shape().owned.lower[axis]) * step * field.shape().element_bytes;
}

PeerWindow::Places places_of(const FieldStorage& field, int axis) {
  const Box& owned = field.shape().owned;
  return {layer_offset(field, axis, owned.lower[axis] - 1),
          layer_offset(field, axis, owned.upper[axis]), field.strides().y};
}

}  // namespace

std::optional<std::string> FaceLinks::unavailable(const Communicator& communicator,
                                                  const Grid& grid, const FieldStorage& level) {
  if (communicator.size() == 1) return "there is one rank";
  if (communicator.node_count() > 1) return "the ranks are on several nodes";
  if (grid.axes() == 1) return "there is one axis";
  if (level.shape().memory != Memory::device) return "the fields are not in device memory";
  for (int axis = 0; axis + 1 < grid.axes(); ++axis)
    if (grid.process_grid().values()[axis] > 1 || grid.periodic(axis))
      return fmt::format("halos are exchanged along {}, too", "xyz"[axis]);
  return std::nullopt;
}

FaceLinks::Ends FaceLinks::ends_of(const Grid& grid) {
  Direction down, up;
  down[grid.axes() - 1] = -1;
  up[grid.axes() - 1] = 1;
  return {grid.neighbour(grid.rank(), down), grid.neighbour(grid.rank(), up)};
}

std::vector<int> FaceLinks::peers() const {
  std::vector<int> ranks;
  for (const int rank : {ends_.lower, ends_.upper})
    if (rank >= 0) ranks.push_back(rank);
  return ranks;
}

FaceLinks::FaceLinks(const Communicator& communicator, const Grid& grid,
                     const std::array<std::reference_wrapper<const FieldStorage>, 2>& levels)
    : communicator_(communicator),
      ends_(ends_of(grid)),
      axis_(grid.axes() - 1),
      warps_(warps_of_layer(grid)),
      watch_(communicator,
             [ends = ends_, axis = axis_](int side) {
               return fmt::format("rank {} (halo {}{})", side == 0 ? ends.lower : ends.upper,
                                  side == 0 ? '-' : '+', "xyz"[axis]);
             }),
      swept_(device::allocate(Memory::device, 2 * warps_ * flag_bytes)),
      flags_(communicator, 2 * warps_ * flag_bytes, peers(),
             std::vector<PeerWindow::Places>(peers().size(), {0, warps_ * flag_bytes, 0})) {
  for (std::size_t level = 0; level < levels.size(); ++level) link(level, levels[level]);
  for (std::size_t level = 0; level < levels.size(); ++level)
    show_to_work(levels[level], ports_[level]);
}

void FaceLinks::link(std::size_t level, const FieldStorage& field) {
  const PeerWindow::Places mine = places_of(field, axis_);
  levels_[level] = std::make_unique<PeerWindow>(communicator_, field.bytes(), peers(),
                                                std::vector(peers().size(), mine));
  device::FacePort& port = ports_[level];
  port.watch = watch_.on_gpu();
  comm::together(communicator_, [&] {
    std::size_t p = 0;
    for (const int end : {at_lower, at_upper}) {
      if ((end == at_lower ? ends_.lower : ends_.upper) < 0) continue;
      const int there = end == at_lower ? at_upper : at_lower;  // it is at its other end
      const PeerWindow::Places &theirs = levels_[level]->places_of(p), &flags = flags_.places_of(p);
      const auto at = [](const PeerWindow::Places& places, int what) {
        return places[static_cast<std::size_t>(what)];
      };
      if (at(theirs, row_step) != at(mine, row_step))
        throw Error(ErrorKind::unavailable, "neighbours' fields have rows of different lengths");
      (end == at_lower ? port.lower : port.upper) = {
          .to = levels_[level]->of(p) + at(theirs, there),
          .raise = reinterpret_cast<device::Epoch*>(flags_.of(p) + at(flags, there)),
          .raised =
              reinterpret_cast<const device::Epoch*>(flags_.mine() + end * warps_ * flag_bytes),
          .swept = static_cast<device::Epoch*>(swept_.get()) + end * warps_};
      ++p;
    }
  });
}

/// Stores a pattern into the first row of each neighbour's halo and looks at what came here.
void FaceLinks::show_to_work(const FieldStorage& field, const device::FacePort& port) const {
  const std::int64_t bytes = field.shape().owned.extent().x * field.shape().element_bytes;
  const auto pattern = [&](int rank, int end) {
    std::vector<std::byte> row(static_cast<std::size_t>(bytes));
    for (std::size_t i = 0; i < row.size(); ++i)
      row[i] = static_cast<std::byte>(i * 7 + static_cast<std::size_t>(rank) * 31 +
                                      static_cast<std::size_t>(end) * 101);
    return row;
  };
  const int me = communicator_.rank();
  comm::together(communicator_, [&] {
    if (port.lower.to != nullptr)
      device::copy(port.lower.to, pattern(me, at_lower).data(), bytes, Stream::host());
    if (port.upper.to != nullptr)
      device::copy(port.upper.to, pattern(me, at_upper).data(), bytes, Stream::host());
  });
  const PeerWindow::Places mine = places_of(field, axis_);
  comm::together(communicator_, [&] {
    for (const int end : {at_lower, at_upper}) {
      const int from = end == at_lower ? ends_.lower : ends_.upper;
      if (from < 0) continue;
      std::vector<std::byte> row(static_cast<std::size_t>(bytes));
      device::copy(row.data(), field.bytes() + mine[static_cast<std::size_t>(end)], bytes,
                   Stream::host());
      if (row != pattern(from, end == at_lower ? at_upper : at_lower))
        throw Error(
            ErrorKind::communication,
            fmt::format("the halo that rank {} stored into rank {}'s memory did not arrive as "
                        "sent",
                        from, me));
    }
  });
}

}  // namespace halocline::exchange
