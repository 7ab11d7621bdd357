// SPDX-License-Identifier: Apache-2.0
#pragma once
// exp, log, sin, cos, tanh and pow of formulas: the same bits on every processor, at every vector
// level and on GPUs. Only IEEE + - * / in double, rounded to nearest with subnormals kept, and
// operations on bits; no fma, no function of a C library. Compile without contraction, as all of
// Halocline (-ffp-contract=off, nvcc --fmad=false).
//
// Special values are those of C's Annex F; the bits of NaNs are not defined. Largest errors found,
// in units in the last place:
//            exp     log     sin     cos     tanh    pow
//   float    0.5001  0.5000  0.5001  0.5001  0.5001  0.5001
//   double   0.75    0.83    0.76    0.74    0.74    0.76
// Functions of float compute in double and round once. Of all 2^32 floats, exp gives a neighbour of
// the nearest float for 1356, log for 0, sin for 938, cos for 982, tanh for 2744 (bench_functions
// floats); pow of float and double: millions of random arguments, against 113 bits.
//
// All but sin and cos are free of branches, so that compilers turn loops over them into vector
// code; for loops of sin and cos see sin_of_moderate and sines.
//
// Methods: reduction of arguments by W. J. Cody and W. Waite (Software Manual for the Elementary
// Functions, 1980), of large angles by M. Payne and R. Hanek (SIGNUM Newsletter 18, 1983); sums and
// products of two doubles by T. J. Dekker (Numerische Mathematik 18, 1971). The polynomials are
// minimax ones, made by scripts/function_coefficients.py, which prints the errors too. This header
// includes nothing: NVRTC has no standard library.

#if defined(__FAST_MATH__)
#error "compile without -ffast-math: it changes the results"
#endif

// Loops become vector code only where everything is inlined, and sources compiled for different
// processors must not share a function. NVRTC inlines anyway.
#if defined(__CUDACC_RTC__)
#define HALOCLINE_FUNCTION __host__ __device__ inline
#elif defined(__CUDACC__)
#define HALOCLINE_FUNCTION __attribute__((always_inline)) __host__ __device__ inline
#else
#define HALOCLINE_FUNCTION __attribute__((always_inline)) inline
#endif

namespace halocline::problem::functions {

using Bits = unsigned long long;

HALOCLINE_FUNCTION Bits bits_of(double value) {
#if defined(__CUDA_ARCH__)
  return static_cast<Bits>(__double_as_longlong(value));
#else
  return __builtin_bit_cast(Bits, value);
#endif
}

HALOCLINE_FUNCTION double of_bits(Bits bits) {
#if defined(__CUDA_ARCH__)
  return __longlong_as_double(static_cast<long long>(bits));
#else
  return __builtin_bit_cast(double, bits);
#endif
}

inline constexpr Bits sign_bit = 1ull << 63;
inline constexpr Bits bits_of_infinity = 0x7ff0000000000000;
inline constexpr Bits bits_of_nan = 0x7ff8000000000000;

HALOCLINE_FUNCTION double magnitude(double x) { return of_bits(bits_of(x) & ~sign_bit); }

/// condition ? yes : no, on bits: compilers move what computes an operand of ?: into a branch, and
/// then make no vector code. For the same reason conditions are joined by & and |.
HALOCLINE_FUNCTION double select(bool condition, double yes, double no) {
  const Bits mask = condition ? ~Bits{0} : Bits{0};
  return of_bits((bits_of(yes) & mask) | (bits_of(no) & ~mask));
}

/// c0 + c1 x + c2 x^2 + ..., from the last coefficient on.
HALOCLINE_FUNCTION double polynomial(double, double c0) { return c0; }

template <class... More>
HALOCLINE_FUNCTION double polynomial(double x, double c0, More... more) {
  return c0 + x * polynomial(x, more...);
}

/// A number as a sum; `low` is at most some units in the last place of `high`.
struct Sum {
  double high, low;
};

/// a + b without error.
HALOCLINE_FUNCTION Sum exact_sum(double a, double b) {
  const double sum = a + b, part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}

/// a + b without error if |a| >= |b| or a is 0.
HALOCLINE_FUNCTION Sum exact_sum_of_ordered(double a, double b) {
  const double sum = a + b;
  return {sum, (a - sum) + b};
}

/// x as numbers of 26 and 27 bits.
HALOCLINE_FUNCTION Sum halves(double x) {
  const double high = of_bits(bits_of(x) & ~((1ull << 27) - 1));
  return {high, x - high};
}

/// a * b, to about 2^-105.
HALOCLINE_FUNCTION Sum exact_product(double a, double b) {
  const Sum x = halves(a), y = halves(b);
  const double product = a * b;
  const double missing = ((x.high * y.high - product) + x.high * y.low) + x.low * y.high;
  return {product, missing + x.low * y.low};
}

/// x * x, likewise.
HALOCLINE_FUNCTION Sum exact_square(double x) {
  const double square = x * x, high = halves(x).high;
  return {square, (high * high - square) + (x + high) * (x - high)};
}

/// A number rounded to an integer by adding 1.5 * 2^52, whose last bits are then those of the
/// integer: for numbers below 2^51.
struct Rounded {
  double value;
  Bits bits;  ///< modulo 2^51, with the upper bits of 1.5 * 2^52
};

inline constexpr double integer_shift = 0x1.8p52;
inline constexpr Bits bits_of_integer_shift = 0x4338000000000000;

HALOCLINE_FUNCTION Rounded rounded(double x) {
  const double shifted = x + integer_shift;
  return {shifted - integer_shift, bits_of(shifted)};
}

inline constexpr double one_over_ln2 = 0x1.71547652b82fep+0;
inline constexpr double ln2_high = 0x1.62e42fefa38p-1;  // 42 bits: exact times an exponent
inline constexpr double ln2_low = 0x1.ef35793c7673p-45;

// exp

/// x + tail = exponent * ln 2 + r + correction, |r| <= 0.3467.
struct ReducedExponent {
  double r, correction;
  Bits exponent;  ///< modulo 2^64
};

/// For |x| < 2^10.
HALOCLINE_FUNCTION ReducedExponent reduced_exponent(double x, double tail) {
  const Rounded n = rounded(x * one_over_ln2);
  const double a = x - n.value * ln2_high;  // exact
  const double b = n.value * ln2_low - tail;
  const double r = a - b;
  return {r, (a - r) - b, n.bits - bits_of_integer_shift};
}

/// e^r - 1 - r, relative error 2^-53.
HALOCLINE_FUNCTION double exp_beyond_r(double r) {
  const double z = r * r;
  const double rest = polynomial(
      r, 0x1.5555555555559p-3, 0x1.5555555555559p-5, 0x1.111111110f6dcp-7, 0x1.6c16c16c14a78p-10,
      0x1.a01a01afd5a27p-13, 0x1.a01a01af67342p-16, 0x1.71ddf8763fdedp-19, 0x1.27e4c7bd6a963p-22,
      0x1.af5e88489853cp-26, 0x1.1f92ca05175b5p-29);
  return z * 0.5 + z * r * rest;
}

/// The same to 2^-37 of r, for float.
HALOCLINE_FUNCTION double exp_beyond_r_for_float(double r) {
  const double z = r * r;
  const double rest =
      polynomial(r, 0x1.555555731b2a5p-3, 0x1.5555557000c29p-5, 0x1.1110b2610ecc8p-7,
                 0x1.6c164aedeef34p-10, 0x1.a16f1a8c9b0a8p-13, 0x1.a16529347e07fp-16);
  return z * 0.5 + z * r * rest;
}

/// 2^exponent, for -1023 < exponent < 1024.
HALOCLINE_FUNCTION double power_of_two(Bits exponent) { return of_bits((exponent + 1023) << 52); }

/// value * 2^exponent, rounded once, for |exponent| < 2000.
HALOCLINE_FUNCTION double scaled(double value, Bits exponent) {
  const Bits half = ((exponent + 2048) >> 1) - 1024;
  return value * power_of_two(half) * power_of_two(exponent - half);
}

/// e^(x + tail), |tail| at most some units in the last place of x.
HALOCLINE_FUNCTION double exp_of_sum(double x, double tail) {
  const double above = select(x < -746, -746, x);  // e^-746 is rounded to 0
  const double within = select(above > 710, 710, above);
  const ReducedExponent reduced = reduced_exponent(within, tail);
  const Sum sum = exact_sum_of_ordered(1, reduced.r);
  const double rest = reduced.correction * sum.high + exp_beyond_r(reduced.r);
  return scaled(sum.high + (sum.low + rest), reduced.exponent);
}

HALOCLINE_FUNCTION double exp(double x) { return exp_of_sum(x, 0); }

/// e^x for a result that becomes a float.
HALOCLINE_FUNCTION double exp_for_float(double x) {
  const double above = select(x < -110, -110, x);  // e^-110 is 0 as a float
  const double within = select(above > 90, 90, above);
  const Rounded n = rounded(within * one_over_ln2);
  const double r = (within - n.value * ln2_high) - n.value * ln2_low;
  return (1 + (r + exp_beyond_r_for_float(r))) * power_of_two(n.bits - bits_of_integer_shift);
}

HALOCLINE_FUNCTION float exp(float x) { return static_cast<float>(exp_for_float(x)); }

// log

/// x = 2^exponent * (1 + f), 1 + f between sqrt(1/2) and sqrt(2).
struct ReducedLog {
  double exponent, f;
};

/// For positive finite x.
HALOCLINE_FUNCTION ReducedLog reduced_log(double x) {
  constexpr Bits root = 0x3fe6a09e667f3bcd, one = 0x3ff0000000000000;  // of sqrt(1/2) and 1
  constexpr Bits fraction = (1ull << 52) - 1;
  const bool is_subnormal = x < 0x1p-1022;
  const Bits bits = bits_of(select(is_subnormal, x * 0x1p54, x)) + (one - root);
  // The biased exponent as the last bits of 2^52, which makes it a double.
  const double biased = of_bits(0x4330000000000000 | (bits >> 52)) - 0x1p52;
  return {biased - select(is_subnormal, 1023 + 54, 1023), of_bits((bits & fraction) + root) - 1};
}

/// The logarithm of a number that is not positive and finite is not `value`.
HALOCLINE_FUNCTION double log_or_special(double x, double value) {
  const double finite = select(x < of_bits(bits_of_infinity), value, x);  // also NaN
  const double defined = select(x < 0, of_bits(bits_of_nan), finite);
  return select(x == 0, of_bits(bits_of_infinity | sign_bit), defined);
}

/// With s = f / (2 + f): ln(1 + f) = 2 atanh(s) = f - (f^2/2 - s (f^2/2 + R)), where R are the
/// terms of 2 atanh(s) / s from s^2 on. The largest parts are summed exactly.
HALOCLINE_FUNCTION double log(double x) {
  const ReducedLog reduced = reduced_log(x);
  const double f = reduced.f, s = f / (2 + f), z = s * s;
  const double rest =
      z * polynomial(z, 0x1.5555555555592p-1, 0x1.999999997fd77p-2, 0x1.24924941f4f9ap-2,
                     0x1.c71c5206090c9p-3, 0x1.74663fa1fa5f3p-3, 0x1.39a1a6faa1df0p-3,
                     0x1.2f06346bb211dp-3);
  const Sum square = exact_square(f);
  const double half = 0.5 * square.high;
  const Sum sum = exact_sum_of_ordered(reduced.exponent * ln2_high, f);
  const double low = sum.low + (reduced.exponent * ln2_low - 0.5 * square.low);
  return log_or_special(x, sum.high + (low - (half - s * (half + rest))));
}

/// The logarithm of a positive number to about 2^-50, also near 1.
HALOCLINE_FUNCTION double log_for_float(double x) {
  const ReducedLog reduced = reduced_log(x);
  const double s = reduced.f / (2 + reduced.f), z = s * s;
  const double rest =
      z * polynomial(z, 0x1.555555555395dp-1, 0x1.999999a2959f3p-2, 0x1.249241762b2b4p-2,
                     0x1.c72279050e194p-3, 0x1.732c0520741d9p-3, 0x1.58791d7d515abp-3);
  return reduced.exponent * ln2_high + (reduced.exponent * ln2_low + (2 * s + s * rest));
}

HALOCLINE_FUNCTION float log(float x) {
  return static_cast<float>(log_or_special(x, log_for_float(x)));
}

// pow

/// The logarithm of a positive finite number to about 2^-65.
HALOCLINE_FUNCTION Sum exact_log(double x) {
  constexpr double third_high = 0x1.5555555555555p-1, third_low = 0x1.5555555555555p-55;  // 2/3
  const ReducedLog reduced = reduced_log(x);
  // s = f / (2 + f) as a sum.
  const Sum divisor = exact_sum_of_ordered(2, reduced.f);
  const double inverse = 1 / divisor.high, s = reduced.f * inverse;
  const Sum product = exact_product(s, divisor.high);
  const double missing = ((reduced.f - product.high) - product.low) - s * divisor.low;
  const double s_low = missing * inverse;
  // 2 atanh(s) = 2 s + s z (2/3 + z (2/5 + ...)), z = s^2.
  Sum z = exact_product(s, s);
  z.low += 2 * s * s_low;
  const double rest =
      z.high * polynomial(z.high, 0x1.999999999999ap-2, 0x1.24924924927cdp-2, 0x1.c71c71c65a266p-3,
                          0x1.745d17d752693p-3, 0x1.3b1378395a02dp-3, 0x1.111dcd8cb6913p-3,
                          0x1.de9eaafc4dd94p-4, 0x1.e7de82e4a3d9ap-4);
  Sum series = exact_sum_of_ordered(third_high, rest);
  series.low += third_low + 0.4 * z.low;
  Sum cube = exact_product(s, z.high);
  cube.low += s * z.low + s_low * z.high;
  Sum beyond = exact_product(cube.high, series.high);
  beyond.low += cube.high * series.low + cube.low * series.high;
  // The largest parts first.
  const Sum a = exact_sum_of_ordered(reduced.exponent * ln2_high, 2 * s);
  const Sum b = exact_sum_of_ordered(a.high, beyond.high);
  const double low = b.low + (a.low + (beyond.low + (2 * s_low + reduced.exponent * ln2_low)));
  return exact_sum_of_ordered(b.high, low);
}

/// x^y, given |x|^y for |x| and y that are finite and not 0.
HALOCLINE_FUNCTION double pow_or_special(double x, double y, double value) {
  const double infinity = of_bits(bits_of_infinity), nan = of_bits(bits_of_nan);
  const double size = magnitude(x), exponent = magnitude(y);
  // Adding 2^52 rounds to integers; from 2^53 on all numbers are even.
  const double half = 0.5 * exponent;
  const bool is_integer = ((exponent + 0x1p52) - 0x1p52 == exponent) | (exponent >= 0x1p52);
  const bool is_even = ((half + 0x1p52) - 0x1p52 == half) | (half >= 0x1p52);

  const bool is_limit = (size == 0) | (size == infinity) | (exponent == infinity);
  const double limit = select((size > 1) == (y > 0), infinity, 0);
  const double positive = select(is_limit, limit, value);
  // The sign of x if y is odd.
  const double sign = select(is_integer & !is_even, of_bits(bits_of(x) & sign_bit), 0);
  const double with_sign = of_bits(bits_of(positive) | bits_of(sign));

  const bool has_no_power = (x < 0) & (size < infinity) & !is_integer;
  const bool is_nan = has_no_power | (size != size) | (exponent != exponent);
  const bool is_one = (x == 1) | (y == 0) | ((size == 1) & (exponent == infinity));
  return select(is_one, 1, select(is_nan, nan, with_sign));
}

HALOCLINE_FUNCTION double pow(double x, double y) {
  const Sum log = exact_log(magnitude(x));
  const Sum product = exact_product(y, log.high);
  // Beyond, where parts of the product may overflow, the result does.
  const double tail = select(magnitude(product.high) < 1000, product.low + y * log.low, 0);
  return pow_or_special(x, y, exp_of_sum(product.high, tail));
}

HALOCLINE_FUNCTION float pow(float x, float y) {
  const double value = exp_for_float(y * log_for_float(magnitude(x)));
  return static_cast<float>(pow_or_special(x, y, value));
}

// tanh

/// With E = e^(2|x|) - 1: E / (E + 2), both as sums of two doubles.
HALOCLINE_FUNCTION double tanh(double x) {
  const double size = magnitude(x);
  const double within = select(size > 22, 22, size);  // tanh 22 is rounded to 1
  const ReducedExponent reduced = reduced_exponent(2 * within, 0);
  const double scale = power_of_two(reduced.exponent);
  const Sum a = exact_sum_of_ordered(scale - 1, scale * reduced.r);
  const double beyond = reduced.correction * (1 + reduced.r) + exp_beyond_r(reduced.r);
  const Sum above = exact_sum_of_ordered(a.high, a.low + scale * beyond);
  Sum below = exact_sum(2, above.high);
  below.low += above.low;
  const double inverse = 1 / below.high, quotient = above.high * inverse;
  const Sum product = exact_product(quotient, below.high);
  const double missing =
      ((above.high - product.high) - product.low) + (above.low - quotient * below.low);
  const double value = quotient + missing * inverse;
  const Bits sign = bits_of(x) & sign_bit;
  return select(size < 0x1p-28, x, of_bits(bits_of(value) | sign));
}

HALOCLINE_FUNCTION float tanh(float x) {
  const double size = magnitude(x);
  const double within = 2 * select(size > 12, 12, size);  // tanh 12 is rounded to 1
  const Rounded n = rounded(within * one_over_ln2);
  const double r = (within - n.value * ln2_high) - n.value * ln2_low;
  const double scale = power_of_two(n.bits - bits_of_integer_shift);
  const double above = (scale - 1) + scale * (r + exp_beyond_r_for_float(r));
  const Bits sign = bits_of(static_cast<double>(x)) & sign_bit;
  const double value = of_bits(bits_of(above / (above + 2)) | sign);
  return static_cast<float>(select(size < 0x1p-28, x, value));
}

// sin and cos

/// x = quadrant * pi/2 + high + low, |high| <= 0.7854.
struct Angle {
  double high, low;
  Bits quadrant;  ///< modulo 4 in the last two bits
};

/// The largest angle that sin_of_moderate and cos_of_moderate take.
inline constexpr double moderate_angle = 0x1p22;

/// pi/2 in four parts; the first three have 31 bits, so that products with a quadrant are exact.
HALOCLINE_FUNCTION Angle moderate_angle_of(double x) {
  const Rounded n = rounded(x * 0x1.45f306dc9c883p-1);
  const double a = x - n.value * 0x1.921fb544p+0;
  const Sum b = exact_sum(a, -(n.value * 0x1.0b4611ap-34));
  const Sum c = exact_sum(b.high, -(n.value * 0x1.898cc51p-64));
  const double low = (b.low + c.low) - n.value * 0x1.c06e0e6894812p-94;
  const Sum angle = exact_sum_of_ordered(c.high, low);
  return {angle.high, angle.low, n.bits};
}

/// Of a float, to 2^-65.
HALOCLINE_FUNCTION Angle moderate_angle_of(float x) {
  const Rounded n = rounded(static_cast<double>(x) * 0x1.45f306dc9c883p-1);
  const double a = x - n.value * 0x1.921fb544p+0;
  return {a - n.value * 0x1.0b4611a626331p-34, 0, n.bits};
}

/// The upper 64 bits of a product.
HALOCLINE_FUNCTION Bits high_product(Bits a, Bits b) {
  const Bits a0 = a & 0xffffffff, a1 = a >> 32, b0 = b & 0xffffffff, b1 = b >> 32;
  const Bits middle = a1 * b0 + (a0 * b0 >> 32);  // at most 2^64 - 2^32
  const Bits lower = a0 * b1 + (middle & 0xffffffff);
  return a1 * b1 + (middle >> 32) + (lower >> 32);
}

/// The bits of 2/pi from 2^-(from + 1) on; `from` may be -64, and there are zeros before 2^-1.
HALOCLINE_FUNCTION Bits bits_of_two_over_pi(int from) {
  static constexpr Bits words[] = {
      0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041,
      0xfe5163abdebbc561, 0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e,
      0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b,
      0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
      0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab};
  const int at = from + 64, shift = at % 64;
  const Bits* word = words + at / 64;
  return shift == 0 ? word[0] : word[0] << shift | word[1] >> (64 - shift);
}

/// Of any finite x with |x| >= 1: x * 2/pi modulo 4 in fixed point, from the bits of 2/pi that
/// matter.
HALOCLINE_FUNCTION Angle any_angle_of(double x) {
  const Bits bits = bits_of(x);
  const Bits mantissa = (bits & ((1ull << 52) - 1)) | 1ull << 52;
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023 - 52;
  // |x| = mantissa * 2^exponent: bits of 2/pi above 2^(1 - exponent) give multiples of 4.
  const int from = exponent - 2;
  const Bits w2 = bits_of_two_over_pi(from), w1 = bits_of_two_over_pi(from + 64),
             w0 = bits_of_two_over_pi(from + 128);
  // In units of 2^-62 and 2^-126, modulo 4. What is left out is below 2^-125, and a fraction is
  // never below 2^-62.
  const Bits low_part = mantissa * w1, low = low_part + high_product(mantissa, w0);
  const Bits high =
      mantissa * w2 + high_product(mantissa, w1) + (low < low_part ? Bits{1} : Bits{0});
  const Bits quadrant = (high + (1ull << 61)) >> 62;
  // The fraction from -1/2 to 1/2, in two's complement, then its magnitude.
  const Bits fraction = high - (quadrant << 62);
  const bool is_negative = (fraction & sign_bit) != 0;
  const Bits low_size = is_negative ? 0 - low : low;
  const Bits high_size = is_negative ? ~fraction + (low == 0 ? Bits{1} : Bits{0}) : fraction;
  const double parts[] = {static_cast<double>(high_size >> 32) * 0x1p-30,
                          static_cast<double>(high_size & 0xffffffff) * 0x1p-62,
                          static_cast<double>(low_size >> 32) * 0x1p-94,
                          static_cast<double>(low_size & 0xffffffff) * 0x1p-126};
  Sum sum = exact_sum_of_ordered(parts[0], parts[1]);
  sum = exact_sum_of_ordered(sum.high, sum.low + (parts[2] + parts[3]));
  Sum angle = exact_product(sum.high, 0x1.921fb54442d18p+0);
  angle.low += sum.high * 0x1.1a62633145c07p-54 + sum.low * 0x1.921fb54442d18p+0;
  angle = exact_sum_of_ordered(angle.high, angle.low);
  const bool is_flipped = is_negative != (x < 0);
  return {is_flipped ? -angle.high : angle.high, is_flipped ? -angle.low : angle.low,
          x < 0 ? 0 - quadrant : quadrant};
}

HALOCLINE_FUNCTION double sin_near_0(const Angle& angle) {
  const double r = angle.high, z = r * r, cube = z * r;
  const double rest =
      polynomial(z, 0x1.111111110f87bp-7, -0x1.a01a019c11a7ep-13, 0x1.71de3577be8f6p-19,
                 -0x1.ae5e663e3dc5dp-26, 0x1.5d930183576f1p-33);
  const double tail = angle.low + z * (cube * rest - 0.5 * angle.low);
  return r + (tail + cube * -0x1.5555555555549p-3);
}

HALOCLINE_FUNCTION double cos_near_0(const Angle& angle) {
  const double r = angle.high;
  const Sum square = exact_square(r);
  const double z = square.high;
  const double rest =
      polynomial(z, 0x1.555555555554cp-5, -0x1.6c16c16c1517ep-10, 0x1.a01a019cb1bcfp-16,
                 -0x1.27e4f809f01bcp-22, 0x1.1ee9ebe8d7e75p-29, -0x1.8fae9c4c5bbb7p-37);
  const Sum sum = exact_sum_of_ordered(1, -0.5 * z);
  return sum.high + (sum.low + (z * z * rest - (0.5 * square.low + r * angle.low)));
}

HALOCLINE_FUNCTION double sin_near_0_for_float(double r) {
  const double z = r * r;
  return r + r * z *
                 polynomial(z, -0x1.55555555523f8p-3, 0x1.1111110ca2642p-7, -0x1.a019f95a61f92p-13,
                            0x1.71d77cdd47449p-19, -0x1.a966d6bc683aep-26);
}

HALOCLINE_FUNCTION double cos_near_0_for_float(double r) {
  const double z = r * r;
  return (1 - 0.5 * z) + z * z *
                             polynomial(z, 0x1.5555554f4db04p-5, -0x1.6c16b8982414bp-10,
                                        0x1.a0111fb6179fcp-16, -0x1.242abe3098273p-22);
}

/// sine, cosine, -sine or -cosine.
HALOCLINE_FUNCTION double of_quadrant(Bits quadrant, double sine, double cosine) {
  const double value = select((quadrant & 1) != 0, cosine, sine);
  return of_bits(bits_of(value) ^ (quadrant & 2) << 62);
}

HALOCLINE_FUNCTION double sin_of(const Angle& angle) {
  return of_quadrant(angle.quadrant, sin_near_0(angle), cos_near_0(angle));
}

HALOCLINE_FUNCTION double cos_of(const Angle& angle) {
  return of_quadrant(angle.quadrant + 1, sin_near_0(angle), cos_near_0(angle));
}

HALOCLINE_FUNCTION double sin_for_float(const Angle& angle) {
  return of_quadrant(angle.quadrant, sin_near_0_for_float(angle.high),
                     cos_near_0_for_float(angle.high));
}

HALOCLINE_FUNCTION double cos_for_float(const Angle& angle) {
  return of_quadrant(angle.quadrant + 1, sin_near_0_for_float(angle.high),
                     cos_near_0_for_float(angle.high));
}

/// Whether x needs sin and cos; NaN and infinity do not.
HALOCLINE_FUNCTION bool is_large_angle(double x) {
  const double size = magnitude(x), infinity = of_bits(bits_of_infinity);
  return (size > moderate_angle) & (size < infinity);
}

/// sin(x), bit by bit, for |x| <= moderate_angle, infinity and NaN; free of branches.
HALOCLINE_FUNCTION double sin_of_moderate(double x) {
  return select(magnitude(x) < 0x1p-27, x, sin_of(moderate_angle_of(x)));
}

HALOCLINE_FUNCTION float sin_of_moderate(float x) {
  const double value = sin_for_float(moderate_angle_of(x));
  return static_cast<float>(select(magnitude(x) < 0x1p-27, x, value));
}

/// cos(x), likewise.
HALOCLINE_FUNCTION double cos_of_moderate(double x) { return cos_of(moderate_angle_of(x)); }

HALOCLINE_FUNCTION float cos_of_moderate(float x) {
  return static_cast<float>(cos_for_float(moderate_angle_of(x)));
}

HALOCLINE_FUNCTION double sin_of_large(double x) { return sin_of(any_angle_of(x)); }

HALOCLINE_FUNCTION float sin_of_large(float x) {
  return static_cast<float>(sin_for_float(any_angle_of(x)));
}

HALOCLINE_FUNCTION double cos_of_large(double x) { return cos_of(any_angle_of(x)); }

HALOCLINE_FUNCTION float cos_of_large(float x) {
  return static_cast<float>(cos_for_float(any_angle_of(x)));
}

template <class Real>
HALOCLINE_FUNCTION Real sin(Real x) {
  return is_large_angle(x) ? sin_of_large(x) : sin_of_moderate(x);
}

template <class Real>
HALOCLINE_FUNCTION Real cos(Real x) {
  return is_large_angle(x) ? cos_of_large(x) : cos_of_moderate(x);
}

struct Sine {
  template <class Real>
  HALOCLINE_FUNCTION static Real of_moderate(Real x) {
    return sin_of_moderate(x);
  }
  template <class Real>
  HALOCLINE_FUNCTION static Real of_large(Real x) {
    return sin_of_large(x);
  }
};

struct Cosine {
  template <class Real>
  HALOCLINE_FUNCTION static Real of_moderate(Real x) {
    return cos_of_moderate(x);
  }
  template <class Real>
  HALOCLINE_FUNCTION static Real of_large(Real x) {
    return cos_of_large(x);
  }
};

/// Makes vector code of moderate angles, then computes large ones again.
template <class Function, class Real>
HALOCLINE_FUNCTION void write_of_angles(const Real* x, Real* values, long long count) {
  constexpr int most = 256;
  Real block[most];
  for (long long begin = 0; begin < count; begin += most) {
    const int size = count - begin < most ? static_cast<int>(count - begin) : most;
    int large = 0;
    for (int i = 0; i < size; ++i) {
      block[i] = Function::of_moderate(x[begin + i]);
      large |= is_large_angle(x[begin + i]) ? 1 : 0;
    }
    if (large != 0)
      for (int i = 0; i < size; ++i)
        if (is_large_angle(x[begin + i])) block[i] = Function::of_large(x[begin + i]);
    for (int i = 0; i < size; ++i) values[begin + i] = block[i];
  }
}

/// Writes sin of `count` values, for loops on hosts; `values` may be `x`.
template <class Real>
HALOCLINE_FUNCTION void sines(const Real* x, Real* values, long long count) {
  write_of_angles<Sine>(x, values, count);
}

/// Writes cos, likewise.
template <class Real>
HALOCLINE_FUNCTION void cosines(const Real* x, Real* values, long long count) {
  write_of_angles<Cosine>(x, values, count);
}

}  // namespace halocline::problem::functions
