// SPDX-License-Identifier: Apache-2.0
#include "bench/known_fields.hpp"

#include <fmt/format.h>

#include "device/queue.hpp"

namespace halocline::bench {
namespace {

/// Returns whether the host can access the memory without moving pages of managed memory.
bool host_uses(Memory memory) { return host_reads(memory) && memory != Memory::managed; }

/// T is an unsigned integer of the elements' size, so that bytes are compared exactly.
template <class T>
class KnownFieldsOf final : public KnownFields {
 public:
  KnownFieldsOf(const Grid& grid, const KnownFieldsOptions& options) : KnownFields(grid, options) {
    for (std::int64_t f = 0; f < options.count; ++f)
      fields_.push_back(make(fmt::format("field {}", f), options.memory));
  }

  void fill() const override {
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      if (host_uses(options_.memory)) {
        fill(view(fields_[f]), f);
        continue;
      }
      const Field<T> twin = make("twin", Memory::host);
      fill(twin, f);
      copy_all(fields_[f], twin);
    }
  }

  std::optional<std::string> first_wrong(Neighbours neighbours) const override {
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      std::optional<Field<T>> twin;
      if (!host_uses(options_.memory))
        copy_all(twin.emplace(make("twin", Memory::host)), fields_[f]);
      const Field<T> seen = twin ? *twin : view(fields_[f]);
      const Box held = fields_[f].shape().held();
      for (const Box& box : subtract(held, grid_.owned()))
        for (auto z = box.lower.z; z < box.upper.z; ++z)
          for (auto y = box.lower.y; y < box.upper.y; ++y)
            for (auto x = box.lower.x; x < box.upper.x; ++x)
              if (const T due = due_at({x, y, z}, f, neighbours); seen(x, y, z) != due)
                return fmt::format(
                    "rank {}, field {}, halo cell ({}, {}, {}) holds {:x} instead of {:x}{}",
                    grid_.rank(), f, x, y, z, seen(x, y, z), due,
                    seen(x, y, z) == poison ? ": no data arrived" : "");
    }
    return std::nullopt;
  }

 private:
  static constexpr T poison = static_cast<T>(0xBADC0FFEEBADC0DE);

  Field<T> make(const std::string& name, Memory memory) const {
    return Field<T>(grid_, {.name = name, .halo = options_.width, .memory = memory});
  }

  /// Returns a field of type T on the same memory.
  Field<T> view(const FieldStorage& field) const {
    return Field<T>(grid_, reinterpret_cast<T*>(field.first_owned()), field.strides(),
                    {.name = field.name(), .halo = options_.width, .memory = options_.memory});
  }

  /// Fields of one shape have the same memory layout, including padding.
  static void copy_all(const FieldStorage& to, const FieldStorage& from) {
    device::copy(to.bytes(), from.bytes(), from.allocated_bytes(), Stream::host());
  }

  T value_of(Int3 cell, std::size_t field) const {
    const Int3& cells = grid_.cells().values();
    const std::int64_t index = (cell.z * cells.y + cell.y) * cells.x + cell.x;
    const auto number = static_cast<std::uint64_t>(index) * fields_.size() + field;
    // An odd factor keeps different numbers different and makes all bytes vary.
    return static_cast<T>(number * 0x9E3779B97F4A7C15u + 1);
  }

  void fill(const Field<T>& field, std::size_t number) const {
    const Box held = field.shape().held(), &owned = grid_.owned();
    for (auto z = held.lower.z; z < held.upper.z; ++z)
      for (auto y = held.lower.y; y < held.upper.y; ++y)
        for (auto x = held.lower.x; x < held.upper.x; ++x)
          field(x, y, z) = owned.contains(Int3{x, y, z}) ? value_of({x, y, z}, number) : poison;
  }

  T due_at(Int3 at, std::size_t field, Neighbours neighbours) const {
    int axes_left = 0;
    for (int axis = 0; axis < grid_.axes(); ++axis) {
      if (at[axis] < grid_.owned().lower[axis] || at[axis] >= grid_.owned().upper[axis])
        ++axes_left;
      const std::int64_t cells = grid_.cells()[axis];
      if (at[axis] >= 0 && at[axis] < cells) continue;
      if (!grid_.periodic(axis)) return poison;
      at[axis] = (at[axis] + cells) % cells;
    }
    return axes_left > 1 && neighbours == Neighbours::faces ? poison : value_of(at, field);
  }
};

}  // namespace

KnownFields::KnownFields(const Grid& grid, const KnownFieldsOptions& options)
    : grid_(grid), options_(options) {}

FieldList KnownFields::list() const { return {fields_.begin(), fields_.end()}; }

std::unique_ptr<KnownFields> make_known_fields(const Grid& grid,
                                               const KnownFieldsOptions& options) {
  if (options.element_bytes == 4)
    return std::make_unique<KnownFieldsOf<std::uint32_t>>(grid, options);
  return std::make_unique<KnownFieldsOf<std::uint64_t>>(grid, options);
}

}  // namespace halocline::bench
