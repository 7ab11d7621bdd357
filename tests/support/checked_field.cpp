// SPDX-License-Identifier: Apache-2.0
#include "support/checked_field.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <sstream>

#include "device/buffer.hpp"
#include "device/queue.hpp"
#include "support/cells.hpp"
#include "support/halo_formula.hpp"

namespace halocline::test {
namespace {

constexpr std::byte poison_byte{0xA5};
constexpr std::int64_t field_guard_bytes = 128;

struct Triple {
  std::int32_t cell, field_and_component, step;
};

std::int64_t cells_of(const Grid& grid) { return Box{{}, grid.cells().values()}.cells(); }

std::string text_of(const Int3& at) {
  std::ostringstream text;
  text << '(' << at.x << ", " << at.y << ", " << at.z << ')';
  return text.str();
}

std::shared_ptr<const FieldStorage> make_storage(const Grid& grid, const FieldSpec& spec,
                                                 const FieldOptions& options,
                                                 std::byte* first_owned, const Strides& strides) {
  const auto make = [&](auto element) -> std::shared_ptr<const FieldStorage> {
    using T = decltype(element);
    if (options.brick.axes() > 0)
      return std::make_shared<FieldStorage>(grid, std::int64_t{sizeof(T)}, options);
    if (first_owned == nullptr) return std::make_shared<Field<T>>(grid, options);
    return std::make_shared<Field<T>>(grid, reinterpret_cast<T*>(first_owned), strides, options);
  };
  switch (spec.element) {
    case Element::f32:
      return make(float{});
    case Element::f64:
      return make(double{});
    case Element::i8:
      return make(std::int8_t{});
    case Element::triple:
      return make(Triple{});
  }
  return nullptr;
}

/// Strides of the caller's memory; `elements` becomes the length of it all.
Strides strides_of(const FieldSpec& spec, const Int3& held, std::int64_t& elements) {
  Strides strides;
  elements = 1;
  for (const char dimension : spec.order_in_users_memory) {
    const bool is_component = dimension == 'c';
    const int axis = dimension - 'x';
    (is_component ? strides.component
     : axis == 0  ? strides.x
     : axis == 1  ? strides.y
                  : strides.z) = elements;
    elements = elements * (is_component ? spec.components : held[axis]) + spec.gap;
  }
  return strides;
}

}  // namespace

std::int64_t bytes_of(Element element) {
  switch (element) {
    case Element::f32:
      return 4;
    case Element::f64:
      return 8;
    case Element::i8:
      return 1;
    case Element::triple:
      return 12;
  }
  return 0;
}

std::string describe(const FieldSpec& spec) {
  std::ostringstream text;
  text << spec.components << " component(s) of " << bytes_of(spec.element) << " bytes, halo";
  for (int axis = 0; axis < 3; ++axis)
    text << ' ' << spec.halo.lower[axis] << '/' << spec.halo.upper[axis];
  if (!spec.order_in_users_memory.empty())
    text << ", in the user's memory " << spec.order_in_users_memory << " with gaps of " << spec.gap;
  if (spec.brick.x > 0)
    text << ", in bricks of " << spec.brick.x << 'x' << spec.brick.y << 'x' << spec.brick.z;
  if (spec.memory != Memory::host) text << ", in " << name_of(spec.memory) << " memory";
  return text.str();
}

CheckedField::CheckedField(const Grid& grid, const FieldSpec& spec, int number)
    : grid_(grid), spec_(spec), number_(number) {
  for (int axis = grid.axes(); axis < 3; ++axis)
    spec_.halo.lower[axis] = spec_.halo.upper[axis] = 0;
  FieldOptions options{.name = std::string(1, static_cast<char>('a' + number)),
                       .halo = spec_.halo,
                       .components = spec_.components,
                       .memory = spec_.memory};
  if (spec_.brick.x > 0) options.brick = Extents(spec_.brick, grid.axes());
  if (spec_.order_in_users_memory.empty()) {
    storage_ = make_storage(grid, spec_, options, nullptr, {});
    memory_ = storage_->bytes();
    memory_bytes_ = storage_->allocated_bytes();
    return;
  }
  const Int3 held = grow(grid.owned(), spec_.halo.lower, spec_.halo.upper).extent();
  std::int64_t elements = 0;
  const Strides strides = strides_of(spec_, held, elements);
  const Int3& halo = spec_.halo.lower;
  const std::int64_t lead = halo.x * strides.x + halo.y * strides.y + halo.z * strides.z;
  memory_bytes_ = elements * bytes_of(spec_.element) + 2 * field_guard_bytes;
  users_memory_ = device::allocate(spec_.memory, memory_bytes_);
  memory_ = static_cast<std::byte*>(users_memory_.get());
  storage_ = make_storage(grid, spec_, options,
                          memory_ + field_guard_bytes + lead * bytes_of(spec_.element), strides);
}

std::int64_t CheckedField::offset_of(Int3 at, std::int64_t component) const {
  const Int3 from = at - grid_.owned().lower;
  const auto elements_to = [&] {
    if (storage_->as_bricks()) return storage_->as_bricks()->place(from) + component;
    const Strides& step = storage_->strides();
    return from.x * step.x + from.y * step.y + from.z * step.z + component * step.component;
  };
  const std::int64_t elements = elements_to();
  return storage_->first_owned() - memory_ + elements * bytes_of(spec_.element);
}

void CheckedField::write_value(Int3 cell, std::int64_t component, int step, std::byte* to) const {
  const Int3& cells = grid_.cells().values();
  const std::int64_t index = cell.x + cells.x * (cell.y + cells.y * cell.z);
  const std::int64_t number = ((step * cells_of(grid_) + index) * 8 + number_) * 4 + component;
  const auto write = [to](auto value) { std::memcpy(to, &value, sizeof value); };
  switch (spec_.element) {
    case Element::f32:
      return write(static_cast<float>(number));  // exact below 2^24
    case Element::f64:
      return write(static_cast<double>(number));
    case Element::i8:
      return write(static_cast<std::int8_t>(number * 37 % 89));
    case Element::triple:
      return write(Triple{static_cast<std::int32_t>(index),
                          static_cast<std::int32_t>(number_ * 4 + component), step});
  }
}

std::string CheckedField::read_value(const std::byte* from) const {
  const auto name = [this](std::int64_t index, std::int64_t field, std::int64_t component,
                           std::int64_t step) {
    const Int3& cells = grid_.cells().values();
    const Int3 cell{index % cells.x, index / cells.x % cells.y, index / cells.x / cells.y};
    return "cell " + text_of(cell) + " of field " + static_cast<char>('a' + field) +
           ", component " + std::to_string(component) + ", step " + std::to_string(step);
  };
  const auto size = static_cast<std::size_t>(bytes_of(spec_.element));
  bool poisoned = true;
  for (std::size_t i = 0; i < size; ++i) poisoned &= from[i] == poison_byte;
  if (poisoned) return "poison";
  if (spec_.element == Element::i8)
    return "value " + std::to_string(static_cast<int>(static_cast<std::int8_t>(*from)));
  if (spec_.element == Element::triple) {
    Triple value;
    std::memcpy(&value, from, sizeof value);
    return name(value.cell, value.field_and_component / 4, value.field_and_component % 4,
                value.step);
  }
  double value = 0;
  float narrow = 0;
  std::memcpy(spec_.element == Element::f32 ? static_cast<void*>(&narrow) : &value, from, size);
  if (spec_.element == Element::f32) value = static_cast<double>(narrow);
  if (!(value >= 0 && value < 1e15) || std::floor(value) != value) return "no cell's value";
  const auto number = static_cast<std::int64_t>(value);
  const std::int64_t index = number / 32;
  return name(index % cells_of(grid_), number / 4 % 8, number % 4, index / cells_of(grid_));
}

std::vector<std::byte> CheckedField::filled_at(int step) const {
  std::vector<std::byte> filled(static_cast<std::size_t>(memory_bytes_), poison_byte);
  for_each_cell(grid_.owned(), [&](Int3 at) {
    for (std::int64_t component = 0; component < spec_.components; ++component)
      write_value(at, component, step, filled.data() + offset_of(at, component));
  });
  return filled;
}

void CheckedField::fill(int step, Stream stream) {
  step_ = step;
  const Bytes filled = filled_at(step);
  if (stream.is_host()) return device::copy(memory_, filled.data(), memory_bytes_, stream);
  // From the host's memory the copy would not be queued but done.
  if (sources_used_ == sources_.size()) sources_.emplace_back(Memory::device, memory_bytes_);
  const Block& source = sources_[sources_used_++];
  device::copy(source.data(), filled.data(), memory_bytes_, Stream::host());
  device::copy(memory_, source.data(), memory_bytes_, stream);
}

Bytes CheckedField::seen() const {
  sources_used_ = 0;
  Bytes seen(static_cast<std::size_t>(memory_bytes_));
  device::copy(seen.data(), memory_, memory_bytes_, Stream::host());
  return seen;
}

testing::AssertionResult CheckedField::is_filled() const { return holds(filled_at(step_), seen()); }

testing::AssertionResult CheckedField::is_exchanged(const ExchangeOptions& options) const {
  return is_exchanged(options, step_, seen());
}

void CheckedField::note(Stream stream) {
  notes_.push_back({step_, Block(stream.is_host() ? Memory::host : Memory::device, memory_bytes_)});
  // What is copied from ordinary host memory is read at once.
  if (spec_.memory == Memory::system) device::synchronize(stream);
  device::copy(notes_.back().bytes.data(), memory_, memory_bytes_, stream);
}

testing::AssertionResult CheckedField::noted_are_exchanged(const ExchangeOptions& options) {
  sources_used_ = 0;
  for (const Note& note : notes_)
    if (const auto result = is_exchanged(options, note.step, note.bytes.content()); !result)
      return testing::AssertionFailure() << "after step " << note.step << ", " << result.message();
  notes_.clear();
  return testing::AssertionSuccess();
}

testing::AssertionResult CheckedField::is_exchanged(const ExchangeOptions& options, int step,
                                                    const std::vector<std::byte>& seen) const {
  std::vector<std::byte> expected = filled_at(step);
  const Box& owned = grid_.owned();
  const HaloWidths widths = widths_filled(grid_, spec_.halo, options);
  for_each_cell(grow(owned, spec_.halo.lower, spec_.halo.upper), [&](Int3 at) {
    const auto cell = imaged_cell(grid_, owned, widths, options.neighbours, at);
    for (std::int64_t component = 0; cell && component < spec_.components; ++component)
      write_value(*cell, component, step, expected.data() + offset_of(at, component));
  });
  return holds(expected, seen);
}

testing::AssertionResult CheckedField::holds(const std::vector<std::byte>& expected,
                                             const std::vector<std::byte>& seen) const {
  const auto wrong = std::mismatch(seen.begin(), seen.end(), expected.begin()).first;
  if (wrong == seen.end()) return testing::AssertionSuccess();
  const std::int64_t at = wrong - seen.begin();
  auto failure = testing::AssertionFailure();
  failure << "field " << storage_->name() << " on rank " << grid_.rank() << ": "
          << name_of_byte(at);
  const Box held = grow(grid_.owned(), spec_.halo.lower, spec_.halo.upper);
  for_each_cell(held, [&](Int3 cell) {
    for (std::int64_t component = 0; component < spec_.components; ++component) {
      const std::int64_t there = offset_of(cell, component);
      if (there <= at && at < there + bytes_of(spec_.element))
        failure << " holds " << read_value(seen.data() + there) << ", but should hold "
                << read_value(expected.data() + there);
    }
  });
  return failure;
}

std::string CheckedField::name_of_byte(std::int64_t offset) const {
  std::string name = "padding, byte " + std::to_string(offset) + " of its memory,";
  const Box held = grow(grid_.owned(), spec_.halo.lower, spec_.halo.upper);
  for_each_cell(held, [&](Int3 cell) {
    for (std::int64_t component = 0; component < spec_.components; ++component) {
      const std::int64_t there = offset_of(cell, component);
      if (there <= offset && offset < there + bytes_of(spec_.element))
        name = std::string(grid_.owned().contains(cell) ? "owned" : "halo") + " cell " +
               text_of(cell) + ", component " + std::to_string(component) + ",";
    }
  });
  return name;
}

}  // namespace halocline::test
