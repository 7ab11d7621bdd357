// SPDX-License-Identifier: Apache-2.0
#include "program/copy_cells.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "device/buffer.hpp"
#include "device/queue.hpp"
#include "field/copy.hpp"
#include "pack/pack.hpp"

namespace halocline::program {
namespace {

// Of a call for each piece, some 50 us, this is a twentieth at 50 GB/s.
constexpr std::int64_t most_bytes_at_once = std::int64_t{32} << 20;

std::string text_of(const Box& box) {
  return fmt::format("({}, {}, {}) to ({}, {}, {})", box.lower.x, box.lower.y, box.lower.z,
                     box.upper.x - 1, box.upper.y - 1, box.upper.z - 1);
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

void copy_by_slots(const FieldStorage& from, const FieldStorage& to, const Box& box) {
  const Int3 extent = box.extent();
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
  for (std::int64_t layer = box.lower[axis]; layer < box.upper[axis]; layer += layers) {
    Box part = box;
    part.lower[axis] = layer;
    part.upper[axis] = std::min(box.upper[axis], layer + layers);
    source.copy(from, part, pack::Direction::pack);
    if (other)
      device::copy(goal.bytes(), source.bytes(),
                   (part.upper[axis] - part.lower[axis]) * layer_bytes, Stream::host());
    goal.copy(to, part, pack::Direction::unpack);
  }
}

void copy_cells(const FieldStorage& from, const FieldStorage& to, const Box& box) {
  const bool by_gpu = is_for_gpu(from) || is_for_gpu(to);
  std::string why_not = cannot_copy_because(from, to);
  if (why_not.empty() && by_gpu && from.layout().order() != to.layout().order())
    why_not = "their axes are in different orders";
  if (!why_not.empty())
    throw Error(ErrorKind::internal, fmt::format("field '{}' cannot be copied to field '{}': {}",
                                                 from.name(), to.name(), why_not));
  if (by_gpu)
    copy_by_slots(from, to, box);
  else
    field::copy_on_host(from, to, box);
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

void copy_box(const FieldStorage& from, const FieldStorage& to, const Box& box) {
  copy_cells(from, to, box);
}

void copy_owned(const FieldStorage& from, const FieldStorage& to) {
  copy_cells(from, to, from.shape().owned);
}

void copy_held(const FieldStorage& from, const FieldStorage& to) {
  if (!(from.shape().halo == to.shape().halo))
    throw Error(ErrorKind::internal,
                fmt::format("fields '{}' and '{}' have different halos", from.name(), to.name()));
  copy_cells(from, to, from.shape().held());
}

FieldStorage make_rows(const Grid& grid, const FieldStorage& field) {
  return FieldStorage(grid, field.shape().element_bytes,
                      {.name = field.name(), .halo = field.shape().halo, .memory = Memory::host});
}

}  // namespace halocline::program
