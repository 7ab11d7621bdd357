// SPDX-License-Identifier: Apache-2.0
#pragma once
// The rules for formulas of stencils. A formula is written once and compiled for plain loops, for
// vectors, and for GPUs with nvcc and NVRTC; so this header and the formulas include nothing from
// the standard library.
//
// A formula is a struct with plain numbers as coefficients and
//   template <class Cells> HALOCLINE_FORMULA auto operator()(const Cells& u) const
// where u.c() is the cell, u.w() u.e() u.s() u.n() u.d() u.t() its lower and upper neighbours
// along x, y and z, and u.constant(v) a coefficient as a value. Values have the operators + - *,
// evaluated as written, without contraction, so that every backend computes the same bits. A value
// may also be a symbol (stencil/cpu/expression.hpp), and the sum of two symbols has its own type:
// hence auto.

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define HALOCLINE_FORMULA __host__ __device__ inline
#else
#define HALOCLINE_FORMULA inline
#endif
