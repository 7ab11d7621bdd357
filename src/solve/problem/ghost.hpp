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

/// What a rule makes of the mirrored cell, for ghosts at one distance from it.
template <class Real>
struct GhostTerms {
  Real added, factor, divisor;  ///< the last two of mixed alone
};

/// Returns the terms of a rule; `h` is the distance of the ghost from the cell that mirrors it.
/// `values` are the rule's, in double precision. Numbers are rounded once: also h*g, if g is a
/// constant.
template <class Real>
HALOCLINE_GHOST GhostTerms<Real> ghost_terms(BoundaryKind kind, const double* values,
                                             bool is_constant, double h) {
  GhostTerms<Real> terms{};
  switch (kind) {
    case BoundaryKind::outside:
      terms.added = static_cast<Real>(values[0]);
      break;
    case BoundaryKind::value:
      terms.added = Real(2) * static_cast<Real>(values[0]);
      break;
    case BoundaryKind::derivative:
      terms.added = is_constant ? static_cast<Real>(h * values[0])
                                : static_cast<Real>(h) * static_cast<Real>(values[0]);
      break;
    case BoundaryKind::mixed: {
      const double a = values[0], b = values[1];
      terms.added = static_cast<Real>(values[2]);
      terms.factor = static_cast<Real>(a / 2 - b / h);
      terms.divisor = static_cast<Real>(a / 2 + b / h);
      break;
    }
    default:
      break;
  }
  return terms;
}

/// Returns the value of a ghost cell; `mirrored` is that of the cell that mirrors it.
template <class Real>
HALOCLINE_GHOST Real ghost(BoundaryKind kind, const GhostTerms<Real>& terms, Real mirrored) {
  switch (kind) {
    case BoundaryKind::outside:
      return terms.added;
    case BoundaryKind::value:
      return terms.added - mirrored;
    case BoundaryKind::derivative:
      return mirrored + terms.added;
    case BoundaryKind::mixed:
      return (terms.added - terms.factor * mirrored) / terms.divisor;
    default:
      return mirrored;
  }
}

}  // namespace halocline::problem
