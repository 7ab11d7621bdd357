// SPDX-License-Identifier: Apache-2.0
#pragma once
// The value of one ghost cell.
//
// Compiles with NVRTC, so it includes nothing of the standard library.

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define HALOCLINE_GHOST __host__ __device__ inline
#else
#define HALOCLINE_GHOST inline
#endif

namespace halocline::problem {

/// The formula of a ghost cell beyond a side. With v, g and c at the face, m the cell inside that
/// mirrors it, h their distance:
enum class BoundaryKind : unsigned char {
  periodic,
  outside,     ///< the value at the ghost's own centre
  value,       ///< 2*v - m
  derivative,  ///< m + h*g, g along the outward normal
  reflect,     ///< m
  mixed        ///< so that a*u + b*du/dn = c at the face
};

/// Returns how many values a rule of this kind has.
HALOCLINE_GHOST constexpr int values_of(BoundaryKind kind) {
  return kind == BoundaryKind::mixed                                       ? 3
         : kind == BoundaryKind::reflect || kind == BoundaryKind::periodic ? 0
                                                                           : 1;
}

/// Returns the value of a ghost cell; `mirrored` is that of the cell that mirrors it, `h` their
/// distance. `values` are the rule's, in double precision. Numbers are rounded once: also h*g, if
/// g is a constant.
template <class Real>
HALOCLINE_GHOST Real ghost(BoundaryKind kind, const double* values, bool is_constant, double h,
                           Real mirrored) {
  switch (kind) {
    case BoundaryKind::outside:
      return static_cast<Real>(values[0]);
    case BoundaryKind::value:
      return Real(2) * static_cast<Real>(values[0]) - mirrored;
    case BoundaryKind::derivative:
      return is_constant ? mirrored + static_cast<Real>(h * values[0])
                         : mirrored + static_cast<Real>(h) * static_cast<Real>(values[0]);
    case BoundaryKind::mixed: {
      const double a = values[0], b = values[1];
      return (static_cast<Real>(values[2]) - static_cast<Real>(a / 2 - b / h) * mirrored) /
             static_cast<Real>(a / 2 + b / h);
    }
    default:
      return mirrored;
  }
}

}  // namespace halocline::problem
