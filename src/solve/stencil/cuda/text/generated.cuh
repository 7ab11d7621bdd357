// SPDX-License-Identifier: Apache-2.0
#pragma once
// The header of updates that are printed as CUDA C++ (printed.hpp) and compiled when the program
// runs.
//
// Compiles with NVRTC, so it includes nothing of the standard library.

#include "problem/functions.hpp"
#include "stencil/cuda/ghosts/ghosts.cuh"
#include "stencil/cuda/persistent/persistent.cuh"
#include "stencil/cuda/walks/march.cuh"
#include "stencil/cuda/walks/march_planes.cuh"
#include "stencil/cuda/walks/per_cell.cuh"

namespace halocline::stencil::cuda {

// The words of printed formulas. Truth values are 1 and 0.

__device__ inline float of_bits(unsigned bits) { return __uint_as_float(bits); }
__device__ inline double of_bits(unsigned long long bits) {
  return __longlong_as_double(static_cast<long long>(bits));
}

__device__ inline float absolute(float value) { return fabsf(value); }
__device__ inline double absolute(double value) { return fabs(value); }
__device__ inline float root(float value) { return __fsqrt_rn(value); }
__device__ inline double root(double value) { return __dsqrt_rn(value); }
__device__ inline float fused(float a, float b, float c) { return __fmaf_rn(a, b, c); }
__device__ inline double fused(double a, double b, double c) { return __fma_rn(a, b, c); }
using problem::functions::cos;
using problem::functions::exp;
using problem::functions::log;
using problem::functions::pow;
using problem::functions::sin;
using problem::functions::tanh;

template <class Real>
__device__ Real less(Real a, Real b) {
  return a < b ? Real(1) : Real(0);
}
template <class Real>
__device__ Real less_equal(Real a, Real b) {
  return a <= b ? Real(1) : Real(0);
}
template <class Real>
__device__ Real greater(Real a, Real b) {
  return a > b ? Real(1) : Real(0);
}
template <class Real>
__device__ Real greater_equal(Real a, Real b) {
  return a >= b ? Real(1) : Real(0);
}
template <class Real>
__device__ Real equal(Real a, Real b) {
  return a == b ? Real(1) : Real(0);
}
template <class Real>
__device__ Real not_equal(Real a, Real b) {
  return a != b ? Real(1) : Real(0);
}
template <class Real>
__device__ Real logical_not(Real a) {
  return a == 0 ? Real(1) : Real(0);
}
template <class Real>
__device__ Real logical_and(Real a, Real b) {
  return a != 0 && b != 0 ? Real(1) : Real(0);
}
template <class Real>
__device__ Real logical_or(Real a, Real b) {
  return a != 0 || b != 0 ? Real(1) : Real(0);
}
template <class Real>
__device__ Real select(Real condition, Real yes, Real no) {
  return condition != 0 ? yes : no;
}

/// Returns the index beside that of a cell, on a periodic axis of so many cells; 0: it is none.
__device__ inline Index beside(Index index, int offset, Index period) {
  const Index at = index + offset;
  if (period == 0) return at;
  return at < 0 ? at + period : at >= period ? at - period : at;
}
template <class Real>
__device__ Real index_at(Index index, int offset, Index period) {
  return static_cast<Real>(static_cast<double>(beside(index, offset, period)));
}
template <class Real>
__device__ Real coordinate_at(Index index, int offset, Index period, double lower, double spacing) {
  return static_cast<Real>(lower + (index_at<double>(index, offset, period) + 0.5) * spacing);
}

/// Sets a new value.
template <class Real>
__device__ void put(Real& to, Real value) {
  to = value;
}

}  // namespace halocline::stencil::cuda
