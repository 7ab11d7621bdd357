// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fields of which every byte is known: what a sweep may read, and poison around it.

#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include <halocline/field.hpp>

#include "base/hash.hpp"
#include "device/buffer.hpp"
#include "program/noise.hpp"
#include "stencil/partial_norms.hpp"
#include "support/grids.hpp"

namespace halocline::test {

/// A NaN that no arithmetic makes.
template <class Real>
Real poison() {
  if constexpr (sizeof(Real) == 4)
    return std::bit_cast<float>(std::uint32_t{0x7FADBEEF});
  else
    return std::bit_cast<double>(std::uint64_t{0x7FF4DEADBEEF0123});
}

/// How the cells of a test lie in memory: in the field's own, or in the test's.
struct Placement {
  enum class Order { own, x_first, y_first, two_components } order = Order::x_first;
  std::int64_t padding = 3;  ///< elements after each row
  std::int64_t offset = 0;   ///< of the first held cell, in elements
};

constexpr Placement own{.order = Placement::Order::own, .padding = 0};

/// A field in the middle of poison: the margins of the test's memory, the padding of its own.
template <class Real>
class TestField {
 public:
  TestField(const Extents& cells, const HaloWidths& halo, const Placement& placement,
            Memory memory = Memory::host)
      : cells_(cells), halo_(halo), placement_(placement) {
    const Grid grid = grid_of(cells);
    const FieldOptions options{.halo = halo, .memory = memory};
    if (placement.order == Placement::Order::own) {
      field_.emplace(grid, options);
      memory_ = field_->bytes();
      bytes_ = field_->allocated_bytes();
    } else {
      place(grid, options);
    }
    const std::vector<Real> all(static_cast<std::size_t>(bytes_) / sizeof(Real), poison<Real>());
    device::copy(memory_, all.data(), std::ssize(all) * std::int64_t{sizeof(Real)}, Stream::host());
  }

  const Field<Real>& field() const { return *field_; }

  /// The same in other memory.
  TestField in(Memory memory) const {
    TestField copy(cells_, halo_, placement_, memory);
    device::copy(copy.memory_, memory_, bytes_, Stream::host());
    return copy;
  }

  /// Of two in the host's memory, all bytes.
  friend bool same_bytes(const TestField& a, const TestField& b) {
    return a.bytes_ == b.bytes_ &&
           std::memcmp(a.memory_, b.memory_, static_cast<std::size_t>(a.bytes_)) == 0;
  }

  /// Writes values of many magnitudes, of both signs, to all held cells.
  void fill() {
    const Box held = field().shape().held();
    std::uint64_t number = 0;
    for (std::int64_t z = held.lower.z; z < held.upper.z; ++z)
      for (std::int64_t y = held.lower.y; y < held.upper.y; ++y)
        for (std::int64_t x = held.lower.x; x < held.upper.x; ++x) {
          const std::uint64_t bits = mix(++number);
          const double unit = program::noise(1, number) - 0.5;
          field()(x, y, z) = static_cast<Real>(std::ldexp(unit, static_cast<int>(bits % 24) - 12));
        }
  }

 private:
  static constexpr std::int64_t margin = 64;

  void place(const Grid& grid, const FieldOptions& options) {
    FieldShape shape{.owned = grid.owned(), .halo = *options.halo};
    for (int axis = grid.axes(); axis < 3; ++axis)
      shape.halo.lower[axis] = shape.halo.upper[axis] = 0;
    const Int3 held = shape.held().extent();
    Strides strides;
    if (placement_.order == Placement::Order::y_first) {
      strides = {.x = held.y + placement_.padding, .y = 1, .z = 0};
      strides.z = strides.x * held.x;
    } else {
      strides.x = placement_.order == Placement::Order::two_components ? 2 : 1;
      strides.y = held.x * strides.x + placement_.padding;
      strides.z = strides.y * held.y;
    }
    // Allocations are aligned, so that `offset` decides about alignment.
    bytes_ = (strides.z * held.z + 2 * margin) * std::int64_t{sizeof(Real)};
    owner_ = device::allocate(options.memory, bytes_);
    memory_ = static_cast<std::byte*>(owner_.get());
    const Int3& lead = shape.halo.lower;
    const std::int64_t first = margin / 2 + placement_.offset + lead.x * strides.x +
                               lead.y * strides.y + lead.z * strides.z;
    field_.emplace(grid, reinterpret_cast<Real*>(memory_) + first, strides, options);
  }

  Extents cells_;
  HaloWidths halo_;
  Placement placement_;
  std::shared_ptr<void> owner_;
  std::optional<Field<Real>> field_;
  std::byte* memory_ = nullptr;
  std::int64_t bytes_ = 0;
};

/// A number in a GPU's memory.
template <class Value>
class GpuValue {
 public:
  explicit GpuValue(Value value) : memory_(device::allocate(Memory::device, sizeof value)) {
    device::copy(memory_.get(), &value, sizeof value, Stream::host());
  }
  Value* place() const { return static_cast<Value*>(memory_.get()); }
  /// Once the work on it is done.
  Value get() const {
    Value value{};
    device::copy(&value, memory_.get(), sizeof value, Stream::host());
    return value;
  }

 private:
  std::shared_ptr<void> memory_;
};

/// GPU memory for the partial norms of a sweep.
class PartsOfNorm {
 public:
  PartsOfNorm() : memory_(device::allocate(Memory::device, stencil::bytes_of_partial_norms)) {}
  stencil::PartialNorms* place() const {
    return static_cast<stencil::PartialNorms*>(memory_.get());
  }

 private:
  std::shared_ptr<void> memory_;
};

}  // namespace halocline::test
