// SPDX-License-Identifier: Apache-2.0
#pragma once
// A field as kernels and loops of your own see it: a pointer, and how to count from it.
//
// Compiles as plain C++ and with nvcc, for host and device. Not with NVRTC, which has no standard
// library.

#include <cstdint>
#include <type_traits>

#include <halocline/box.hpp>

/// Marks what runs on the host and on a GPU; nothing where no CUDA is compiled.
#ifdef __CUDACC__
#define HALOCLINE_HOST_DEVICE __host__ __device__
#else
#define HALOCLINE_HOST_DEVICE
#endif

namespace halocline {

/// Distances in elements between neighbours along each axis and between components.
struct Strides {
  std::int64_t x = 1, y = 0, z = 0;
  std::int64_t component = 0;
  friend bool operator==(const Strides&, const Strides&) = default;
};

/// Addresses the values of a field by global coordinates, as Field does, and may be handed to a
/// kernel by value: it is copied byte by byte and takes 72 bytes.
///
/// It owns nothing: the memory is the field's, or that of the user whose memory the field wraps,
/// and must outlive the view. Field::view() makes it; copies of the field keep the memory too. A
/// view of device memory may be made, copied and asked for addresses on the host, but its values
/// are for kernels alone. Nothing is locked or ordered: the caller orders threads and streams that
/// write what others read, and halos belong to the exchange from start() to finish().
///
/// With `const` elements it only reads; a FieldView<T> becomes a FieldView<const T> by itself.
template <class T>
class FieldView {
 public:
  FieldView() = default;
  /// `first` is the cell at `origin`, in global coordinates; strides are in elements.
  HALOCLINE_HOST_DEVICE constexpr FieldView(T* first, Int3 origin, Strides strides)
      : first_(first),
        origin_(origin),
        strides_(strides),
        lead_(origin.x * strides.x + origin.y * strides.y + origin.z * strides.z) {}

  /// The value at a held cell, owned or halo. Not checked. Costs a multiplication and an addition
  /// for each coordinate that is given. The stride along x is known at run time only; where that is
  /// too much, row() leaves it out.
  HALOCLINE_HOST_DEVICE constexpr T& operator()(std::int64_t x, std::int64_t y = 0,
                                                std::int64_t z = 0,
                                                std::int64_t component = 0) const {
    return first_[x * strides_.x + y * strides_.y + z * strides_.z +
                  component * strides_.component - lead_];
  }

  /// The address of a row's cell at the first owned x; y and z are any held ones. Where strides().x
  /// is 1, as in fields of one component that Halocline has allocated, cell x of the row is
  /// `row(y)[x - origin().x]`, without that multiplication.
  HALOCLINE_HOST_DEVICE constexpr T* row(std::int64_t y = 0, std::int64_t z = 0,
                                         std::int64_t component = 0) const {
    return &(*this)(origin_.x, y, z, component);
  }

  /// The address of the first owned cell.
  HALOCLINE_HOST_DEVICE constexpr T* first() const { return first_; }
  /// The first owned cell, in global coordinates.
  HALOCLINE_HOST_DEVICE constexpr const Int3& origin() const { return origin_; }
  /// In elements.
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
  std::int64_t lead_ = 0;  // elements from the cell at 0, 0, 0, were it held, to the first owned
};

}  // namespace halocline
