// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fields: values on the cells that a rank owns and on the halo around them.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <halocline/brick_view.hpp>
#include <halocline/field_view.hpp>
#include <halocline/grid.hpp>
#include <halocline/memory.hpp>

namespace halocline {

/// The cells and elements of a field, without their layout in memory.
struct FieldShape {
  Box owned;        ///< global coordinates
  HaloWidths halo;  ///< widths of the halo held around `owned`, in cells
  std::int64_t components = 1;
  std::int64_t element_bytes = 0;
  Memory memory = Memory::host;
  /// False if the elements are known to be neither float nor double: those of Field<int>. The type
  /// of a FieldStorage without Field is not known.
  bool may_be_real = true;

  Box held() const { return grow(owned, halo.lower, halo.upper); }
};

/// `count` pieces of `bytes` bytes each: the first at `offset` from the field's first byte, each
/// next one `stride` bytes further.
struct Run {
  std::int64_t offset, bytes, count, stride;
  friend bool operator==(const Run&, const Run&) = default;
};

/// Turns boxes of cells into runs of bytes: all that packing and transports need.
class Layout {
 public:
  virtual ~Layout() = default;
  /// Lists the bytes of `box`, which must lie within the held cells. Two layouts with equal order()
  /// list the cells of equal boxes in the same order, whatever their strides.
  virtual std::vector<Run> runs(const Box& box) const = 0;
  /// Names the order of cells and components in memory, such as "cxyz".
  virtual std::string order() const = 0;
  /// Returns the strides in elements if every cell lies at its coordinates times the strides from
  /// the first owned cell. Nothing for other layouts, such as blocks of cells or a space-filling
  /// curve.
  virtual std::optional<Strides> as_strided() const { return std::nullopt; }
  /// Returns the addressing of cells in bricks; nothing for other layouts.
  virtual std::optional<Bricks> as_bricks() const { return std::nullopt; }
};

struct FieldOptions {
  std::string name = "field";        ///< used in error texts
  std::optional<HaloWidths> halo{};  ///< by default GridOptions::expected_halo
  std::int64_t components = 1;       ///< values per cell, adjacent in memory
  Memory memory = Memory::host;
  /// Cells of a brick along each axis, powers of 2: the cells of a FieldStorage then lie in bricks.
  /// Empty: in rows, as those of every Field.
  Extents brick{};
};

/// The caller's memory for a field of which only the size of an element is known, not its type.
struct RawCells {
  void* first_owned = nullptr;  ///< the first owned cell; the memory includes the halo around it
  Strides strides;              ///< positive, in elements; any axis may be the fastest
  std::int64_t element_bytes = 0;
};

/// A field without its element type: all that an Exchange needs. Copies share the values; the last
/// copy frees memory that the field allocated.
class FieldStorage {
 public:
  /// Allocates as Field does, for elements of `element_bytes` bytes; in bricks if the options
  /// request them, which takes memory for whole ones. Not collective. Throws usage if
  /// `element_bytes` is less than 1 or an option is invalid, unavailable if the memory is not
  /// available on this machine, resource if it runs out.
  FieldStorage(const Grid& grid, std::int64_t element_bytes, const FieldOptions& options = {});
  /// Uses the caller's memory, which must outlive the field. Not collective. Throws usage for a
  /// null pointer, for strides and element sizes that are not positive, for strides with which two
  /// values share an element, and for invalid options.
  FieldStorage(const Grid& grid, const RawCells& cells, const FieldOptions& options = {});

  const std::string& name() const { return name_; }
  const FieldShape& shape() const { return shape_; }
  const Layout& layout() const { return *layout_; }
  /// Returns the address from which the offsets of runs count.
  std::byte* bytes() const { return bytes_; }
  /// Returns the address of the first owned cell.
  std::byte* first_owned() const { return first_owned_; }
  /// Returns the strides in elements; nothing if the layout has no strides.
  const std::optional<Strides>& as_strided() const { return strides_; }
  /// Returns the addressing of cells in bricks; nothing for other layouts.
  const std::optional<Bricks>& as_bricks() const { return bricks_; }
  /// Returns a view for kernels and loops of the values, of type T, of a field in bricks; see
  /// BrickView. Throws usage for other layouts and if T has another size than an element.
  template <class T>
  BrickView<T> bricks() const {
    check_bricks(sizeof(T));
    return {reinterpret_cast<T*>(first_owned_), shape_.owned.lower, *bricks_};
  }
  /// Returns the strides in elements. Every Field is strided; throws usage for other layouts.
  const Strides& strides() const {
    if (!strides_) refuse_strides();
    return *strides_;
  }
  /// Returns the bytes allocated for this field; 0 if it wraps the caller's memory.
  std::int64_t allocated_bytes() const { return allocated_bytes_; }

 protected:
  /// The caller's memory in the caller's own layout; offsets of runs count from `bytes`.
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
  void check_bricks(std::int64_t bytes_of_type) const;

  std::string name_;
  FieldShape shape_;
  std::optional<Strides> strides_;  // the layout's
  std::optional<Bricks> bricks_;
  std::byte* first_owned_ = nullptr;
  std::shared_ptr<void> memory_;
  std::shared_ptr<const Layout> layout_;
  std::byte* bytes_ = nullptr;
  std::int64_t allocated_bytes_ = 0;
};

/// Values of type T, any trivially copyable type, on the cells of a rank and their halo. Copies
/// share the values.
template <class T>
class Field : public FieldStorage {
  static_assert(std::is_trivially_copyable_v<T>, "halos are moved as bytes");

 public:
  /// Allocates memory, all bytes zero, with the first owned cell of every row on a 64-byte
  /// boundary. Memory::device is on the current GPU. Not collective; throws as FieldStorage does.
  explicit Field(const Grid& grid, const FieldOptions& options = {})
      : FieldStorage(grid, sizeof(T), options) {
    strides();  // a Field is strided
    shape_.may_be_real = std::is_floating_point_v<T>;
  }

  /// Uses the caller's memory, which must outlive the field: `first_owned` points to the first
  /// owned cell, and the memory includes the halo around it. Strides are in elements and positive;
  /// any axis may be the fastest. Throws as FieldStorage does.
  Field(const Grid& grid, T* first_owned, const Strides& strides, const FieldOptions& options = {})
      : FieldStorage(grid, RawCells{first_owned, strides, sizeof(T)}, options) {
    shape_.may_be_real = std::is_floating_point_v<T>;
  }

  /// Returns a view for kernels and loops, which addresses cells as this field does. It owns
  /// nothing and is valid as long as the memory: a copy of this field, or the wrapped memory. With
  /// Memory::device, only kernels may access its values. Throws usage if the field is not strided.
  FieldView<T> view() const { return {first(), shape().owned.lower, strides()}; }
  /// Returns the value of a held cell, owned or halo, in global coordinates. Not checked.
  T& operator()(std::int64_t x, std::int64_t y = 0, std::int64_t z = 0,
                std::int64_t component = 0) const {
    const Int3 at = Int3{x, y, z} - shape().owned.lower;
    const Strides& step = *strides_;  // the constructors set them
    return first()[at.x * step.x + at.y * step.y + at.z * step.z + component * step.component];
  }
  /// Returns the address of the first owned cell.
  T* first() const { return reinterpret_cast<T*>(first_owned()); }
};

}  // namespace halocline
