// SPDX-License-Identifier: Apache-2.0
#pragma once
// Values of cells as words of edges: see device/edge_port.hpp.
//
// Compiled by NVRTC, so it includes nothing of the standard library.

#include "device/cuda/edge_words.cuh"
#include "stencil/cuda/walks/lane.cuh"

namespace halocline::stencil::cuda {

/// The words of a value.
template <class Real>
struct WordsOf;
template <>
struct WordsOf<float> {
  using Type = device::EdgeWord;
};
template <>
struct WordsOf<double> {
  using Type = device::EdgeWords;
};

// A value as words of 32 bits, and the values of a vector.

__device__ inline void bits_of(float value, unsigned* bits) { bits[0] = __float_as_uint(value); }
__device__ inline void bits_of(double value, unsigned* bits) {
  const auto all = static_cast<unsigned long long>(__double_as_longlong(value));
  bits[0] = static_cast<unsigned>(all);
  bits[1] = static_cast<unsigned>(all >> 32);
}
template <class Real>
__device__ Real value_of(const unsigned* bits) {
  if constexpr (sizeof(Real) == 4)
    return __uint_as_float(bits[0]);
  else
    return __longlong_as_double(
        static_cast<long long>(static_cast<unsigned long long>(bits[1]) << 32 | bits[0]));
}
template <class Real>
__device__ void to_bits(const Real* values, unsigned* bits) {
  for (int i = 0; i < vector_cells<Real>; ++i) bits_of(values[i], bits + i * (sizeof(Real) / 4));
}
template <class Real>
__device__ void from_bits(const unsigned* bits, Real* values) {
  for (int i = 0; i < vector_cells<Real>; ++i)
    values[i] = value_of<Real>(bits + i * (sizeof(Real) / 4));
}

/// Both halves of a vector of a row.
template <class Real>
class AwaitedRow {
 public:
  AwaitedRow() = default;
  __device__ AwaitedRow(const device::EdgeWords* edge, int words, int vectors, unsigned epoch)
      : low_(edge == nullptr ? edge : edge + words, epoch),
        high_(edge == nullptr ? edge : edge + words + vectors, epoch) {}
  __device__ void load() { low_.load(), high_.load(); }
  __device__ unsigned missing(unsigned epoch) const {
    return low_.missing(epoch) | high_.missing(epoch);
  }
  __device__ void get(Real* values) const {
    const unsigned bits[4] = {
        static_cast<unsigned>(low_.words().first), static_cast<unsigned>(low_.words().second),
        static_cast<unsigned>(high_.words().first), static_cast<unsigned>(high_.words().second)};
    from_bits(bits, values);
  }

 private:
  device::cuda::Awaited<device::EdgeWords> low_, high_;
};

}  // namespace halocline::stencil::cuda
