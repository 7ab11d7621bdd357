// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fields: values on the cells that a rank owns, and on the halo around them.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <halocline/grid.hpp>
#include <halocline/memory.hpp>

namespace halocline {

/// What a field holds, without saying where each byte is.
struct FieldShape {
  Box owned;        ///< global coordinates
  HaloWidths halo;  ///< cells around `owned` that are held too
  std::int64_t components = 1;
  std::int64_t element_bytes = 0;
  Memory memory = Memory::host;

  Box held() const { return grow(owned, halo.lower, halo.upper); }
};

/// `count` pieces of `bytes` bytes each, the first at `offset` from the field's first byte, the
/// next ones `stride` bytes further on.
struct Run {
  std::int64_t offset, bytes, count, stride;
  friend bool operator==(const Run&, const Run&) = default;
};

/// Turns boxes of cells into runs of bytes, and nothing else: packing and transports need no more.
class Layout {
 public:
  virtual ~Layout() = default;
  /// Lists the bytes of `box`, which must lie within the held cells. Two ranks whose layouts have
  /// equal order() list the cells of equal boxes in the same order, whatever their strides.
  virtual std::vector<Run> runs(const Box& box) const = 0;
  /// Names the order in which cells and components follow each other, such as "cxyz".
  virtual std::string order() const = 0;
};

/// Distances in elements between neighbours along each axis and between components.
struct Strides {
  std::int64_t x = 1, y = 0, z = 0;
  std::int64_t component = 0;
};

struct FieldOptions {
  std::string name = "field";  ///< used in error texts
  HaloWidths halo = 1;
  std::int64_t components = 1;  ///< of the element type, next to each other
  Memory memory = Memory::host;
};

/// A field with its element type forgotten: what an Exchange needs.
class FieldStorage {
 public:
  const std::string& name() const { return name_; }
  const FieldShape& shape() const { return shape_; }
  const Layout& layout() const { return *layout_; }
  /// First byte, to which the offsets of runs refer.
  std::byte* bytes() const { return bytes_; }
  /// The first owned cell's first byte.
  std::byte* first_owned() const { return first_owned_; }
  /// In elements.
  const Strides& strides() const { return strides_; }
  /// What one allocation for this field takes; 0 if the memory is the user's.
  std::int64_t allocated_bytes() const { return allocated_bytes_; }

 protected:
  FieldStorage(const Grid& grid, const FieldOptions& options, std::int64_t element_bytes);
  FieldStorage(const Grid& grid, const FieldOptions& options, std::int64_t element_bytes,
               void* first_owned, const Strides& strides);

 private:
  std::string name_;
  FieldShape shape_;
  Strides strides_;
  std::byte* first_owned_ = nullptr;
  std::shared_ptr<void> memory_;
  std::shared_ptr<const Layout> layout_;
  std::byte* bytes_ = nullptr;
  std::int64_t allocated_bytes_ = 0;
};

/// Values of type T (any type that may be copied byte by byte) on the cells of a rank. Copies
/// share the values.
template <class T>
class Field : public FieldStorage {
  static_assert(std::is_trivially_copyable_v<T>, "halos are moved as bytes");

 public:
  /// Allocates, all bytes zero, the first owned cell of every row on a 64-byte boundary.
  explicit Field(const Grid& grid, const FieldOptions& options = {})
      : FieldStorage(grid, options, sizeof(T)) {}

  /// Uses the caller's memory, which must outlive the field: `first_owned` is the first owned
  /// cell, and the halo around it must be there too. Strides are positive; any axis may be the
  /// fastest.
  Field(const Grid& grid, T* first_owned, const Strides& strides, const FieldOptions& options = {})
      : FieldStorage(grid, options, sizeof(T), first_owned, strides) {}

  /// The value at a held cell, in global coordinates. Not checked.
  T& operator()(std::int64_t x, std::int64_t y = 0, std::int64_t z = 0,
                std::int64_t component = 0) const {
    const Int3 at = Int3{x, y, z} - shape().owned.lower;
    const Strides& step = strides();
    return first()[at.x * step.x + at.y * step.y + at.z * step.z + component * step.component];
  }
  /// The first owned cell.
  T* first() const { return reinterpret_cast<T*>(first_owned()); }
};

}  // namespace halocline
