// SPDX-License-Identifier: Apache-2.0
#include "program/copy_cells.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "device/buffer.hpp"
#include "device/queue.hpp"
#include "field/cells.hpp"
#include "field/elements.hpp"
#include "pack/pack.hpp"

namespace halocline::program {
namespace {

// Of a call for each piece, some 50 us, this is a twentieth at 50 GB/s.
constexpr std::int64_t most_bytes_at_once = std::int64_t{32} << 20;

std::string text_of(const Box& box) {
  return fmt::format("({}, {}, {}) to ({}, {}, {})", box.lower.x, box.lower.y, box.lower.z,
                     box.upper.x - 1, box.upper.y - 1, box.upper.z - 1);
}

void copy_on_host(const FieldStorage& from, const FieldStorage& to) {
  const Box& owned = from.shape().owned;
  field::with_real(from, [&]<class Real>() {
    const FieldView<Real> source = field::view_of<Real>(from), goal = field::view_of<Real>(to);
    const std::int64_t source_step = source.strides().x, goal_step = goal.strides().x;
    const std::int64_t count = owned.extent().x;
    for (std::int64_t z = owned.lower.z; z < owned.upper.z; ++z)
      for (std::int64_t y = owned.lower.y; y < owned.upper.y; ++y) {
        const Real* values = &source(owned.lower.x, y, z);
        Real* places = &goal(owned.lower.x, y, z);
        if (source_step == 1 && goal_step == 1)
          std::memcpy(places, values, static_cast<std::size_t>(count) * sizeof(Real));
        else
          for (std::int64_t x = 0; x < count; ++x) places[x * goal_step] = values[x * source_step];
      }
  });
}

/// Bytes next to each other, in memory that packing and unpacking one of the fields can reach.
class Slot {
 public:
  Slot(const FieldStorage& field, std::int64_t bytes)
      : memory_(is_for_gpu(field) ? Memory::device : Memory::host),
        bytes_(device::allocate(memory_, bytes)) {
    if (memory_ == Memory::device) stream_.emplace();
  }

  void copy(const FieldStorage& field, const Box& box, pack::Direction direction) const {
    const Stream stream = stream_ ? stream_->get() : Stream::host();
    const pack::Copies copies({{.pieces = {{field.bytes(), field.layout().runs(box), 0}},
                                .even = bytes(),
                                .odd = bytes()}},
                              direction, memory_);
    copies.run(stream);
    device::synchronize(stream);
  }
  std::byte* bytes() const { return static_cast<std::byte*>(bytes_.get()); }

 private:
  Memory memory_;
  std::shared_ptr<void> bytes_;
  std::optional<device::OwnedStream> stream_;
};

void copy_by_slots(const FieldStorage& from, const FieldStorage& to) {
  const Box& owned = from.shape().owned;
  const Int3 extent = owned.extent();
  // Layers of the last axis, or parts of rows, so that a slot holds at least one.
  const int axis = extent.z > 1 ? 2 : extent.y > 1 ? 1 : 0;
  const std::int64_t layer_bytes =
      extent.x * extent.y * extent.z / extent[axis] * from.shape().element_bytes;
  const std::int64_t layers =
      std::clamp<std::int64_t>(most_bytes_at_once / layer_bytes, 1, extent[axis]);
  const Slot source(from, layers * layer_bytes);
  const bool same_memory = is_for_gpu(from) == is_for_gpu(to);
  const std::optional<Slot> other =
      same_memory ? std::nullopt : std::optional<Slot>(std::in_place, to, layers * layer_bytes);
  const Slot& goal = other ? *other : source;
  for (std::int64_t layer = owned.lower[axis]; layer < owned.upper[axis]; layer += layers) {
    Box part = owned;
    part.lower[axis] = layer;
    part.upper[axis] = std::min(owned.upper[axis], layer + layers);
    source.copy(from, part, pack::Direction::pack);
    if (other)
      device::copy(goal.bytes(), source.bytes(),
                   (part.upper[axis] - part.lower[axis]) * layer_bytes, Stream::host());
    goal.copy(to, part, pack::Direction::unpack);
  }
}

}  // namespace

bool is_for_gpu(const FieldStorage& field) {
  const Memory memory = field.shape().memory;
  return memory == Memory::device || memory == Memory::managed;
}

std::string cannot_copy_because(const FieldStorage& from, const FieldStorage& to) {
  const FieldShape &source = from.shape(), &goal = to.shape();
  if (!(source.owned == goal.owned))
    return fmt::format("one has the cells {}, the other {}", text_of(source.owned),
                       text_of(goal.owned));
  if (source.element_bytes != goal.element_bytes)
    return fmt::format("elements have {} bytes in one and {} in the other", source.element_bytes,
                       goal.element_bytes);
  if (source.components != 1 || goal.components != 1) return "cells have several components";
  return "";
}

void copy_owned(const FieldStorage& from, const FieldStorage& to) {
  const bool by_gpu = is_for_gpu(from) || is_for_gpu(to);
  std::string why_not = cannot_copy_because(from, to);
  if (why_not.empty() && by_gpu && from.layout().order() != to.layout().order())
    why_not = "their axes are in different orders";
  if (!why_not.empty())
    throw Error(ErrorKind::internal, fmt::format("field '{}' cannot be copied to field '{}': {}",
                                                 from.name(), to.name(), why_not));
  if (by_gpu)
    copy_by_slots(from, to);
  else
    copy_on_host(from, to);
}

}  // namespace halocline::program
