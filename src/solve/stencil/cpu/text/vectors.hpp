// SPDX-License-Identifier: Apache-2.0
#pragma once
// Vectors, and the words of printed formulas for them and for single numbers.
//
// By the vectors that GCC and Clang have themselves, and without a header of theirs: it compiles in
// a tenth of a second what takes one with Highway, and on a user's machine it needs a compiler and
// nothing else.

#include "problem/functions.hpp"

#define HALOCLINE_INLINE __attribute__((always_inline)) inline

// Sources that are compiled for different processors must not share a function.
namespace halocline::stencil::cpu::HALOCLINE_VECTORS {

#if defined(__AVX512F__)
inline constexpr int vector_bytes = 64;
#elif defined(__AVX2__)
inline constexpr int vector_bytes = 32;
#else
inline constexpr int vector_bytes = 16;
#endif

template <class Real, int lanes>
struct VectorOf {
  typedef Real Type __attribute__((vector_size(lanes * static_cast<int>(sizeof(Real)))));
};
template <class Real>
inline constexpr int lanes_of = vector_bytes / static_cast<int>(sizeof(Real));
template <class Real>
using Vector = typename VectorOf<Real, lanes_of<Real>>::Type;

/// Of a vector, or of a number, which is a vector of one.
template <class V>
struct Facts;
template <>
struct Facts<float> {
  using Real = float;
  using Bits = int;
};
template <>
struct Facts<double> {
  using Real = double;
  using Bits = long long;
};
template <>
struct Facts<Vector<float>> {
  using Real = float;
  using Bits = Vector<int>;
};
template <>
struct Facts<Vector<double>> {
  using Real = double;
  using Bits = Vector<long long>;
};
template <class V>
using RealOf = typename Facts<V>::Real;
/// Integers of the same size.
template <class V>
using BitsOf = typename Facts<V>::Bits;
template <class V>
inline constexpr int width_of = static_cast<int>(sizeof(V) / sizeof(RealOf<V>));

template <class To, class From>
HALOCLINE_INLINE To as_bits(From value) {
  return __builtin_bit_cast(To, value);
}

template <class V>
HALOCLINE_INLINE V load(const RealOf<V>* from) {
  V value;
  __builtin_memcpy(&value, from, sizeof(V));
  return value;
}
template <class V>
HALOCLINE_INLINE void store(V value, RealOf<V>* to) {
  __builtin_memcpy(to, &value, sizeof(V));
}
/// Stores a vector past the caches, at an address that is a multiple of its size.
template <class Real>
HALOCLINE_INLINE void stream(Vector<Real> value, Real* to) {
#if defined(__clang__)
  __builtin_nontemporal_store(value, reinterpret_cast<Vector<Real>*>(to));
#elif defined(__AVX512F__)
  if constexpr (sizeof(Real) == 8)
    __builtin_ia32_movntpd512(to, value);
  else
    __builtin_ia32_movntps512(to, value);
#elif defined(__AVX2__)
  if constexpr (sizeof(Real) == 8)
    __builtin_ia32_movntpd256(to, value);
  else
    __builtin_ia32_movntps256(to, value);
#else
  store<Vector<Real>>(value, to);
#endif
}

// Loops over what is in registers are parameter packs: an array of a loop would be in memory.
template <int... number>
struct Numbers {};
#if defined(__clang__)
template <class, int... number>
using NumbersOf = Numbers<number...>;
template <int count>
using Count = __make_integer_seq<NumbersOf, int, count>;
#else
template <int count>
using Count = Numbers<__integer_pack(count)...>;
#endif

/// Lanes `n` and following of two vectors side by side.
template <int n, class V, int... i>
HALOCLINE_INLINE V shifted(V lower, V upper, Numbers<i...>) {
#if defined(__clang__)
  return __builtin_shufflevector(lower, upper, (n + i)...);
#else
  return __builtin_shuffle(lower, upper, BitsOf<V>{(n + i)...});
#endif
}

/// Makes a vector of what `lane(i)` returns.
template <class V, class Lane>
HALOCLINE_INLINE V by_lanes(const Lane& lane) {
  if constexpr (width_of<V> == 1) {
    return lane(0);
  } else {
    RealOf<V> all[width_of<V>];
    for (int i = 0; i < width_of<V>; ++i) all[i] = lane(i);
    return load<V>(all);
  }
}
/// Calls a function for each lane.
template <class V, class Function>
HALOCLINE_INLINE V for_lanes(V value, const Function& function) {
  if constexpr (width_of<V> == 1) {
    return function(value);
  } else {
    RealOf<V> all[width_of<V>];
    store(value, all);
    for (int i = 0; i < width_of<V>; ++i) all[i] = function(all[i]);
    return load<V>(all);
  }
}

// The words. An operand is a vector, or a number, where it is the same for all cells of a row; so
// is a result. Truth values are 1 and 0.

HALOCLINE_INLINE float of_bits(unsigned bits) { return as_bits<float>(bits); }
HALOCLINE_INLINE double of_bits(unsigned long long bits) { return as_bits<double>(bits); }

template <class V>
HALOCLINE_INLINE V spread(RealOf<V> value) {
  return V{} + value;
}
template <class V, class From>
HALOCLINE_INLINE V widened(From value) {
  if constexpr (width_of<V> == width_of<From>)
    return value;
  else
    return spread<V>(value);
}

template <class V, class Mask>
HALOCLINE_INLINE V truth(Mask mask) {
  if constexpr (width_of<V> == 1)
    return mask ? V(1) : V(0);
  else
    return as_bits<V>(as_bits<BitsOf<V>>(spread<V>(1)) & as_bits<BitsOf<V>>(mask));
}

#define HALOCLINE_COMPARISON(name, sign)               \
  template <class A, class B>                          \
  HALOCLINE_INLINE auto name(A a, B b) {               \
    using V = decltype(a + b);                         \
    return truth<V>(widened<V>(a) sign widened<V>(b)); \
  }
HALOCLINE_COMPARISON(less, <)
HALOCLINE_COMPARISON(less_equal, <=)
HALOCLINE_COMPARISON(greater, >)
HALOCLINE_COMPARISON(greater_equal, >=)
HALOCLINE_COMPARISON(equal, ==)
HALOCLINE_COMPARISON(not_equal, !=)
#undef HALOCLINE_COMPARISON

template <class A>
HALOCLINE_INLINE A logical_not(A a) {
  return truth<A>(a == spread<A>(0));
}
template <class A, class B>
HALOCLINE_INLINE auto logical_and(A a, B b) {
  using V = decltype(a + b);
  return truth<V>((widened<V>(a) != spread<V>(0)) & (widened<V>(b) != spread<V>(0)));
}
template <class A, class B>
HALOCLINE_INLINE auto logical_or(A a, B b) {
  using V = decltype(a + b);
  return truth<V>((widened<V>(a) != spread<V>(0)) | (widened<V>(b) != spread<V>(0)));
}
template <class A, class B, class C>
HALOCLINE_INLINE auto select(A condition, B yes, C no) {
  using V = decltype(condition + yes + no);
  if constexpr (width_of<A> == 1)
    return condition != 0 ? widened<V>(yes) : widened<V>(no);
  else
    return condition != spread<A>(0) ? widened<V>(yes) : widened<V>(no);
}

template <class A>
HALOCLINE_INLINE A absolute(A a) {
  constexpr BitsOf<A> zero{};
  const auto magnitude = static_cast<BitsOf<RealOf<A>>>(~0ull >> 1 >> (64 - 8 * sizeof(RealOf<A>)));
  return as_bits<A>(as_bits<BitsOf<A>>(a) & (zero + magnitude));
}
template <class A>
HALOCLINE_INLINE A root(A a) {
  return for_lanes(a, [](RealOf<A> one) {
    if constexpr (sizeof(one) == 4)
      return __builtin_sqrtf(one);
    else
      return __builtin_sqrt(one);
  });
}
template <class A, class B, class C>
HALOCLINE_INLINE auto fused(A a, B b, C c) {
  using V = decltype(a + b + c);
  using Real = RealOf<V>;
  Real x[width_of<V>], y[width_of<V>], z[width_of<V>];
  store<V>(widened<V>(a), x);
  store<V>(widened<V>(b), y);
  store<V>(widened<V>(c), z);
  return by_lanes<V>([&](int i) {
    if constexpr (sizeof(Real) == 4)
      return __builtin_fmaf(x[i], y[i], z[i]);
    else
      return __builtin_fma(x[i], y[i], z[i]);
  });
}

// Once in a text, whatever number of places call them: they are long.
#define HALOCLINE_FUNCTION_OF_ONE(name)                                               \
  template <class A>                                                                  \
  __attribute__((noinline, const)) A name(A a) {                                      \
    return for_lanes(a, [](RealOf<A> one) { return problem::functions::name(one); }); \
  }
HALOCLINE_FUNCTION_OF_ONE(exp)
HALOCLINE_FUNCTION_OF_ONE(log)
HALOCLINE_FUNCTION_OF_ONE(tanh)
#undef HALOCLINE_FUNCTION_OF_ONE

#define HALOCLINE_FUNCTION_OF_ANGLE(name, loop)      \
  template <class A>                                 \
  __attribute__((noinline, const)) A name(A a) {     \
    RealOf<A> all[width_of<A>];                      \
    store(a, all);                                   \
    problem::functions::loop(all, all, width_of<A>); \
    return load<A>(all);                             \
  }
HALOCLINE_FUNCTION_OF_ANGLE(sin, sines)
HALOCLINE_FUNCTION_OF_ANGLE(cos, cosines)
#undef HALOCLINE_FUNCTION_OF_ANGLE

template <class V>
__attribute__((noinline, const)) V pow_of(V a, V b) {
  RealOf<V> x[width_of<V>], y[width_of<V>];
  store(a, x);
  store(b, y);
  return by_lanes<V>([&](int i) { return problem::functions::pow(x[i], y[i]); });
}
template <class A, class B>
HALOCLINE_INLINE auto pow(A a, B b) {
  using V = decltype(a + b);
  return pow_of<V>(widened<V>(a), widened<V>(b));
}

using Index = long long;

/// The index of a cell along an axis, and of a vector's cells along x, from this one on.
template <class V>
struct Along {
  Index first;
};

/// Returns an index beside that of a cell, on a periodic axis of so many cells; 0: it is none.
HALOCLINE_INLINE Index beside(Index index, int offset, Index period) {
  const Index at = index + offset;
  if (period == 0) return at;
  return at < 0 ? at + period : at >= period ? at - period : at;
}
template <class Real>
HALOCLINE_INLINE Real index_at(Index index, int offset, Index period) {
  return static_cast<Real>(static_cast<double>(beside(index, offset, period)));
}
template <class Real, class V>
HALOCLINE_INLINE V index_at(Along<V> along, int offset, Index period) {
  return by_lanes<V>([&](int i) { return index_at<Real>(along.first + i, offset, period); });
}
template <class Real>
HALOCLINE_INLINE Real coordinate_at(Index index, int offset, Index period, double lower,
                                    double spacing) {
  return static_cast<Real>(lower + (index_at<double>(index, offset, period) + 0.5) * spacing);
}
template <class Real, class V>
HALOCLINE_INLINE V coordinate_at(Along<V> along, int offset, Index period, double lower,
                                 double spacing) {
  return by_lanes<V>(
      [&](int i) { return coordinate_at<Real>(along.first + i, offset, period, lower, spacing); });
}

/// Sets a new value.
template <class V, class From>
HALOCLINE_INLINE void put(V& to, From value) {
  to = widened<V>(value);
}

}  // namespace halocline::stencil::cpu::HALOCLINE_VECTORS
