// SPDX-License-Identifier: Apache-2.0
#include "problem/other_languages.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace halocline::problem {
namespace {

// Adding and subtracting this number rounds to a whole one: doubles of its size have no digits
// behind the point. A user's f32 update computes with 24 binary digits instead of 53.
constexpr std::pair<std::string_view, std::string_view> rounder{"C", "1.5*2^52"};
constexpr std::string_view rounder_note = " (1.5*2^23 in updates of precision f32)";

std::vector<ForeignFunction> functions_made() {
  // 2 atan(p) for p from -1 to 1 (M. Abramowitz, I. Stegun, Handbook of Mathematical Functions,
  // 4.4.49).
  const std::string twice_arc_tangent =
      "2*p*(1 - p^2*(0.3333314528 - p^2*(0.1999355085 - p^2*(0.1420889944 - p^2*(0.1065626393 - "
      "p^2*(0.075289640 - p^2*(0.0429096138 - p^2*(0.0161657367 - p^2*0.0028662257))))))))";
  // The error function of q from 0 (the same, 7.1.28).
  const std::string error_function =
      "(1 - 1/(1 + q*(0.0705230784 + q*(0.0422820123 + q*(0.0092705272 + q*(0.0001520143 + "
      "q*(0.0002765672 + q*0.0000430638))))))^16)";
  // An argument below zero: a power, a root and a polynomial of its size take its sign back.
  const std::string sign = "select(a < 0, -1, 1)*";
  return {
      {{"tan"}, "a", "sin(a)/cos(a)"},
      {{"cot", "cotan"}, "a", "cos(a)/sin(a)"},
      {{"sec"}, "a", "1/cos(a)"},
      {{"csc", "cosec"}, "a", "1/sin(a)"},
      {{"sinh"}, "a", "(exp(a) - exp(-a))/2"},
      {{"cosh"}, "a", "(exp(a) + exp(-a))/2"},
      {{"coth"}, "a", "1/tanh(a)"},
      {{"sech"}, "a", "2/(exp(a) + exp(-a))"},
      {{"csch"}, "a", "2/(exp(a) - exp(-a))"},
      {{"asinh", "arcsinh"}, "a", sign + "log(abs(a) + sqrt(a^2 + 1))"},
      {{"acosh", "arccosh"}, "a", "log(a + sqrt(a^2 - 1))"},
      {{"atanh", "arctanh"}, "a", "log((1 + a)/(1 - a))/2"},
      {{"atan", "arctan"}, "a", twice_arc_tangent, {{"p", "a/(1 + sqrt(1 + a^2))"}}, "4e-8"},
      {{"asin", "arcsin"}, "a", twice_arc_tangent, {{"p", "a/(1 + sqrt(1 - a^2))"}}, "4e-8"},
      {{"acos", "arccos"},
       "a",
       "pi/2 - " + twice_arc_tangent,
       {{"p", "a/(1 + sqrt(1 - a^2))"}},
       "4e-8"},
      {{"atan2", "arctan2"},
       "a, b",
       "select(b < 0, select(a < 0, -pi, pi), 0) + select(b < 0, -1, 1)*" + twice_arc_tangent,
       {{"p", "select(a == 0, 0, a/(abs(b) + sqrt(a^2 + b^2)))"}},
       "4e-8"},
      {{"sind"}, "a", "sin(a*pi/180)"},
      {{"cosd"}, "a", "cos(a*pi/180)"},
      {{"tand"}, "a", "sin(a*pi/180)/cos(a*pi/180)"},
      {{"sinpi"}, "a", "sin(pi*a)"},
      {{"cospi"}, "a", "cos(pi*a)"},
      {{"sinc"}, "a", "select(a == 0, 1, sin(a)/a)"},
      {{"radians", "deg2rad"}, "a", "a*pi/180"},
      {{"degrees", "rad2deg"}, "a", "a*180/pi"},
      {{"ln", "loge"}, "a", "log(a)"},
      {{"log10", "lg"}, "a", "log(a)/log(10)"},
      {{"log2", "lb"}, "a", "log(a)/log(2)"},
      {{"log1p"}, "a", "log(1 + a)"},
      {{"expm1"}, "a", "exp(a) - 1"},
      {{"exp2"}, "a", "2^a"},
      {{"exp10"}, "a", "10^a"},
      {{"power"}, "a, b", "a^b"},
      {{"square", "sqr", "sq"}, "a", "a^2"},
      {{"cube"}, "a", "a^3"},
      {{"cbrt"}, "a", sign + "abs(a)^(1/3)"},
      {{"rsqrt"}, "a", "1/sqrt(a)"},
      {{"hypot"}, "a, b", "sqrt(a^2 + b^2)"},
      {{"erf"}, "a", sign + error_function, {{"q", "abs(a)"}}, "3e-7"},
      {{"erfc"}, "a", "1 - " + sign + error_function, {{"q", "abs(a)"}}, "3e-7"},
      {{"sigmoid", "logistic"}, "a", "1/(1 + exp(-a))"},
      {{"fabs", "absolute", "mag"}, "a", "abs(a)"},
      {{"sign", "sgn", "signum"}, "a", "select(a > 0, 1, select(a < 0, -1, 0))"},
      {{"copysign"}, "a, b", "select(b < 0, -1, 1)*abs(a)"},
      {{"heaviside"}, "a", "select(a < 0, 0, 1)"},
      {{"relu"}, "a", "max(a, 0)"},
      {{"fmin", "minimum"}, "a, b", "min(a, b)"},
      {{"fmax", "maximum"}, "a, b", "max(a, b)"},
      {{"mean", "avg", "average"}, "a, b", "(a + b)/2"},
      {{"clamp", "clip"}, "a, b, c", "min(max(a, b), c)"},
      {{"lerp", "mix"}, "a, b, c", "a + c*(b - a)"},
      {{"mad", "muladd"}, "a, b, c", "fma(a, b, c)"},
      {{"if", "where", "ifelse", "iif", "iff", "ternary"},
       "condition, a, b",
       "select(condition, a, b)"},
      {{"merge"}, "a, b, condition", "select(condition, a, b)"},
      {{"isnan"}, "a", "a != a"},
      {{"isfinite"}, "a", "a - a == 0"},
      {{"round", "rint", "nint", "nearbyint"}, "a", "a + C - C", {rounder}},
      {{"floor"}, "a", "a + C - C - select(a + C - C > a, 1, 0)", {rounder}},
      {{"ceil", "ceiling"}, "a", "a + C - C + select(a + C - C < a, 1, 0)", {rounder}},
      {{"trunc", "fix", "int"},
       "a",
       sign + "(q + C - C - select(q + C - C > q, 1, 0))",
       {{"q", "abs(a)"}, rounder}},
      {{"frac", "fract"}, "a", "a - (a + C - C - select(a + C - C > a, 1, 0))", {rounder}},
      {{"mod", "modulo"},
       "a, b",
       "a - b*(q + C - C - select(q + C - C > q, 1, 0))",
       {{"q", "a/b"}, rounder}},
      {{"fmod", "rem"},
       "a, b",
       sign + "(abs(a) - abs(b)*(q + C - C - select(q + C - C > q, 1, 0)))",
       {{"q", "abs(a/b)"}, rounder}},
      {{"laplacian", "lap", "del2", "nabla2"}, "a", "laplace(a)"},
      {{"biharmonic", "bilaplace", "laplace2", "del4"}, "a", "laplace(laplace(a))"},
      {{"dxx", "ddxx", "ddx2", "d2x", "d2x2", "d2dx", "d2xx"}, "a", "d2dx2(a)"},
      {{"dyy", "ddyy", "ddy2", "d2y", "d2y2", "d2dy", "d2yy"}, "a", "d2dy2(a)"},
      {{"dzz", "ddzz", "ddz2", "d2z", "d2z2", "d2dz", "d2zz"}, "a", "d2dz2(a)"},
      {{"d3dx3"}, "a", "ddx(d2dx2(a))"},
      {{"d3dy3"}, "a", "ddy(d2dy2(a))"},
      {{"d3dz3"}, "a", "ddz(d2dz2(a))"},
      {{"d4dx4"}, "a", "d2dx2(d2dx2(a))"},
      {{"d4dy4"}, "a", "d2dy2(d2dy2(a))"},
      {{"d4dz4"}, "a", "d2dz2(d2dz2(a))"},
      {{"dxy", "dyx", "ddxy", "ddxdy", "d2dxy", "d2dxdy", "d2dydx"}, "a", "ddx(ddy(a))"},
      {{"dxz", "dzx", "ddxz", "ddxdz", "d2dxz", "d2dxdz", "d2dzdx"}, "a", "ddx(ddz(a))"},
      {{"dyz", "dzy", "ddyz", "ddydz", "d2dyz", "d2dydz", "d2dzdy"}, "a", "ddy(ddz(a))"},
  };
}

/// Advice for words that no expression replaces.
struct Advice {
  std::string_view names, text;  ///< names with blanks between them
};
constexpr std::array<Advice, 9> on_functions{{
    {"ddt dudt", "an update says what a field becomes: u = \"u + dt*(...)\""},
    {"grad gradient", "write ddx(a), ddy(a) and ddz(a)"},
    {"diff", "write ddx(a), ddy(a) or ddz(a)"},
    {"div", "write ddx(a) + ddy(b) for the divergence of a and b, and a/b to divide"},
    {"divergence", "write ddx(a) + ddy(b) for the divergence of a and b"},
    {"curl", "write ddx(b) - ddy(a) for the curl of a and b"},
    {"sum", "write cells one by one, as in u[-1,0] + u[1,0]; a formula cannot add up all cells"},
    {"rand random uniform", "write noise(), in initial values"},
    {"float double", "all numbers have the precision of the file; leave it out"},
}};
constexpr std::array<Advice, 6> on_names{{
    {"e", "write exp(1)"},
    {"tau", "write 2*pi"},
    {"M_PI", "write pi"},
    {"time", "the time is t"},
    {"true", "write a comparison, such as 1 > 0"},
    {"false", "write a comparison, such as 1 < 0"},
}};
// Words in small letters and joined.
constexpr std::array<Advice, 12> on_boundaries{{
    {"dirichlet fixed constant", "write { value = v }, v at the wall"},
    {"neumann gradient flux",
     "write { derivative = g }, g along the outward normal, or \"reflect\" for 0"},
    {"robin", "write { mixed = { a = ..., b = ..., c = ... } }, for a u + b du/dn = c"},
    {"zerogradient zeroflux noflux insulated adiabatic symmetric symmetry mirror reflecting "
     "reflective",
     "write \"reflect\""},
    {"cyclic wrap circular", "write \"periodic\""},
    {"left west", "write \"x-\""},
    {"right east", "write \"x+\""},
    {"south", "write \"y-\""},
    {"north", "write \"y+\""},
    {"bottom front", "write \"y-\" or \"z-\""},
    {"top back", "write \"y+\" or \"z+\""},
    {"all", "write \"*\""},
}};

std::string advice_in(std::span<const Advice> list, std::string_view name) {
  for (const auto& [names, text] : list)
    if (fmt::format(" {} ", names).find(fmt::format(" {} ", name)) != std::string::npos)
      return std::string(text);
  return "";
}

}  // namespace

std::span<const ForeignFunction> foreign_functions() {
  static const std::vector<ForeignFunction> all = functions_made();
  return all;
}

std::string advice_on_function(std::string_view name) {
  for (const ForeignFunction& one : foreign_functions()) {
    if (std::find(one.names.begin(), one.names.end(), name) == one.names.end()) continue;
    std::string advice = fmt::format("for {}({}) write {}", name, one.arguments, one.text);
    const char* before = ", where ";
    for (const auto& [letter, meaning] : one.letters) {
      advice += fmt::format("{}{} is {}{}", before, letter, meaning,
                            letter == rounder.first ? rounder_note : "");
      before = " and ";
    }
    return one.accuracy.empty() ? advice : fmt::format("{}; right to {}", advice, one.accuracy);
  }
  return advice_in(on_functions, name);
}

std::string advice_on_name(std::string_view name) { return advice_in(on_names, name); }

std::string advice_on_boundary(std::string_view word) {
  std::string joined;
  for (const char c : word)
    if (c >= 'A' && c <= 'Z')
      joined += static_cast<char>(c - 'A' + 'a');
    else if (c != ' ' && c != '-' && c != '_')
      joined += c;
  return advice_in(on_boundaries, joined);
}

}  // namespace halocline::problem
