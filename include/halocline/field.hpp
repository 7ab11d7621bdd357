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

#include <halocline/field_view.hpp>
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
  /// The strides in elements, if every cell is its coordinates times them away from the first
  /// owned one. Nothing where a layout has no such strides, as with blocks of cells or a curve.
  virtual std::optional<Strides> as_strided() const { return std::nullopt; }
};

struct FieldOptions {
  std::string name = "field";  ///< used in error texts
  HaloWidths halo = 1;
  std::int64_t components = 1;  ///< of the element type, next to each other
  Memory memory = Memory::host;
};

/// The caller's memory for a field whose elements have a size but no known type.
struct RawCells {
  void* first_owned = nullptr;  ///< the first owned cell; the halo around it must be there too
  Strides strides;              ///< positive, in elements; any axis may be the fastest
  std::int64_t element_bytes = 0;
};

/// A field without its element type, which is all that an Exchange needs. Copies share
/// the values.
class FieldStorage {
 public:
  /// Allocates as Field does, for elements of `element_bytes` bytes. Throws usage if that is less
  /// than 1, or for options that are wrong.
  FieldStorage(const Grid& grid, std::int64_t element_bytes, const FieldOptions& options = {});
  /// Uses the caller's memory, which must outlive the field. Throws usage for a null pointer, for
  /// strides and elements that are not positive, and for options that are wrong.
  FieldStorage(const Grid& grid, const RawCells& cells, const FieldOptions& options = {});

  const std::string& name() const { return name_; }
  const FieldShape& shape() const { return shape_; }
  const Layout& layout() const { return *layout_; }
  /// First byte, to which the offsets of runs refer.
  std::byte* bytes() const { return bytes_; }
  /// The first owned cell's first byte.
  std::byte* first_owned() const { return first_owned_; }
  /// In elements; nothing if the layout of the field has none.
  const std::optional<Strides>& as_strided() const { return strides_; }
  /// The same for fields that are strided, as all are that Field makes. Throws usage for others.
  const Strides& strides() const {
    if (!strides_) refuse_strides();
    return *strides_;
  }
  /// What one allocation for this field takes; 0 if the memory is the user's.
  std::int64_t allocated_bytes() const { return allocated_bytes_; }

 protected:
  /// The caller's memory in a layout of the caller's; offsets of runs count from `bytes`.
  struct LaidOut {
    std::byte* bytes = nullptr;
    std::shared_ptr<const Layout> layout;
    std::int64_t element_bytes = 0;
  };
  FieldStorage(const Grid& grid, const LaidOut& cells, const FieldOptions& options);

 private:
  template <class T>
  friend class Field;
  [[noreturn]] void refuse_strides() const;

  std::string name_;
  FieldShape shape_;
  std::optional<Strides> strides_;  // the layout's
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
      : FieldStorage(grid, sizeof(T), options) {}

  /// Uses the caller's memory, which must outlive the field: `first_owned` is the first owned
  /// cell, and the halo around it must be there too. Strides are positive; any axis may be the
  /// fastest.
  Field(const Grid& grid, T* first_owned, const Strides& strides, const FieldOptions& options = {})
      : FieldStorage(grid, RawCells{first_owned, strides, sizeof(T)}, options) {}

  /// What a kernel or a loop is given: it addresses cells as this field does, owns nothing, and is
  /// valid as long as the memory, that is as a copy of this field or the user's memory. With
  /// Memory::device its values are for kernels alone. Throws usage if the field is not strided.
  FieldView<T> view() const { return {first(), shape().owned.lower, strides()}; }
  /// The value at a held cell, in global coordinates. Not checked.
  T& operator()(std::int64_t x, std::int64_t y = 0, std::int64_t z = 0,
                std::int64_t component = 0) const {
    const Int3 at = Int3{x, y, z} - shape().owned.lower;
    const Strides& step = *strides_;  // the constructors see to it that there are some
    return first()[at.x * step.x + at.y * step.y + at.z * step.z + component * step.component];
  }
  /// The first owned cell.
  T* first() const { return reinterpret_cast<T*>(first_owned()); }
};

}  // namespace halocline
