// SPDX-License-Identifier: Apache-2.0
#pragma once
// Access to a field from your own kernels and loops: a pointer and strides.
//
// Compiles as plain C++ and with nvcc, for host and device; not with NVRTC, which has no standard
// library.

#include <cstdint>
#include <type_traits>

#include <halocline/box.hpp>

/// Marks functions for the host and the GPU; empty unless a CUDA compiler reads it.
#ifdef __CUDACC__
#define HALOCLINE_HOST_DEVICE __host__ __device__
#else
#define HALOCLINE_HOST_DEVICE
#endif

namespace halocline {

/// Distances, in elements, between adjacent cells along each axis and between components.
struct Strides {
  std::int64_t x = 1, y = 0, z = 0;
  std::int64_t component = 0;
  friend bool operator==(const Strides&, const Strides&) = default;
};

/// Addresses the values of a field by global coordinates, as Field does. Pass it to kernels by
/// value: it is trivially copyable and takes 72 bytes.
///
/// A view, from Field::view(), owns nothing. The memory is that of the field, which its copies keep
/// alive, or the memory that the field wraps; it must outlive the view. On the host, a view of
/// device memory can be made, copied and asked for addresses; only kernels may access its values. A
/// view neither locks nor orders: the caller orders the threads and streams that write values
/// others read, and from start() to finish() the halos belong to the exchange.
///
/// A view with `const` elements only reads; FieldView<T> converts to FieldView<const T>.
template <class T>
class FieldView {
 public:
  FieldView() = default;
  /// `first` points to the cell at `origin`, in global coordinates; strides are in elements.
  HALOCLINE_HOST_DEVICE constexpr FieldView(T* first, Int3 origin, Strides strides)
      : first_(first),
        origin_(origin),
        strides_(strides),
        lead_(origin.x * strides.x + origin.y * strides.y + origin.z * strides.z) {}

  /// Returns the value of a held cell, owned or halo. Not checked. Costs a multiplication and an
  /// addition per given coordinate. The stride along x is known only at run time; row() avoids that
  /// multiplication.
  HALOCLINE_HOST_DEVICE constexpr T& operator()(std::int64_t x, std::int64_t y = 0,
                                                std::int64_t z = 0,
                                                std::int64_t component = 0) const {
    return first_[x * strides_.x + y * strides_.y + z * strides_.z +
                  component * strides_.component - lead_];
  }

  /// Returns the address of the cell at the first owned x in a row; y and z are those of any held
  /// row. If strides().x is 1, as in fields of one component that Halocline allocated, cell x of
  /// the row is `row(y)[x - origin().x]`.
  HALOCLINE_HOST_DEVICE constexpr T* row(std::int64_t y = 0, std::int64_t z = 0,
                                         std::int64_t component = 0) const {
    return &(*this)(origin_.x, y, z, component);
  }

  /// Returns the address of the first owned cell.
  HALOCLINE_HOST_DEVICE constexpr T* first() const { return first_; }
  /// Returns the global coordinates of the first owned cell.
  HALOCLINE_HOST_DEVICE constexpr const Int3& origin() const { return origin_; }
  /// Returns the strides, in elements.
  HALOCLINE_HOST_DEVICE constexpr const Strides& strides() const { return strides_; }

  template <class U>
  requires std::is_same_v<U, const T> HALOCLINE_HOST_DEVICE constexpr operator FieldView<U>()
      const {  // NOLINT: as T* to const T*
    return {first_, origin_, strides_};
  }

 private:
  T* first_ = nullptr;
  Int3 origin_;
  Strides strides_;
  std::int64_t lead_ = 0;  // elements from where cell 0, 0, 0 would be to the first owned cell
};

}  // namespace halocline
