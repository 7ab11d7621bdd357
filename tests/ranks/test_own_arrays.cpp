// SPDX-License-Identifier: Apache-2.0
// Problems whose fields and coefficients are the program's own arrays.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <halocline/field.hpp>
#include <halocline/measure.hpp>
#include <halocline/solver.hpp>

#include "support/caught.hpp"
#include "support/memories.hpp"
#include "support/ranks.hpp"
#include "support/shared_folder.hpp"
#include "support/small_solve.hpp"

namespace halocline::test {
namespace {

// Start values and coefficient are in the text, or the program gives them. A coefficient is read
// beyond the domain, two time levels are handed on.
std::string waves_from(bool by_text) {
  const auto start = [&](const char* values) {
    return by_text ? "\"" + std::string(values) + "\"" : std::string("0.125");
  };
  return "axes = 2\ncells = [8, 8]\n[fields.u]\ninitial = " + start("noise()") +
         "\nboundary = { x = \"periodic\", y = \"reflect\" }\n[fields.u_old]\ninitial = " +
         start("0.5*noise(1)") +
         "\nboundary = { x = \"periodic\", y = \"reflect\" }\n[coefficients]\nc = { value = " +
         start("0.1 + 0.01*i - 0.02*min(max(j, 0), 17)") +
         " }\n[update]\n"
         "u = \"0.9*u - 0.1*u_old + c[0,1]*(u[-1,0] + u[1,0] - 2*u) + 0.1*(u[0,-1] - u[0,1])\"\n"
         "u_old = \"u\"\n[stop]\nsweeps = 9\nnorm = \"max\"\n";
}

// Its fields at the start are the values above, among them the coefficient's.
constexpr const char* values_alone = R"toml(
axes = 2
cells = [8, 8]
[fields.u]
initial = "noise()"
boundary = "periodic"
[fields.u_old]
initial = "0.5*noise(1)"
boundary = "periodic"
[fields.c]
initial = "0.1 + 0.01*i - 0.02*j"
boundary = "periodic"
[update]
u = "u"
u_old = "u_old"
c = "c"
[stop]
sweeps = 1
)toml";

Extents cells_of_all() { return {21, 18}; }

enum class Strided { as_field, with_gaps, transposed };

/// An array of the program on the host, or a field in other memory.
class OwnArray {
 public:
  OwnArray(const Grid& grid, Precision precision, Memory memory, Strided strided) {
    const std::int64_t bytes = precision == Precision::f32 ? 4 : 8;
    const FieldOptions options{.halo = 2, .memory = memory};
    if (strided == Strided::as_field) {
      field_.emplace(grid, bytes, options);
      return;
    }
    // Halo included, rows are 4 cells longer than the owned part.
    const Int3 owned = grid.owned().extent();
    const Strides strides = strided == Strided::with_gaps ? Strides{3, 3 * (owned.x + 4) + 5, 1, 1}
                                                          : Strides{owned.y + 7, 1, 1, 1};
    values_.resize(static_cast<std::size_t>((3 * owned.x + 17) * (owned.y + 7) * bytes));
    std::byte* first_owned = values_.data() + 2 * (strides.x + strides.y) * bytes;
    field_.emplace(grid, RawCells{first_owned, strides, bytes}, options);
  }
  const FieldStorage& field() const { return *field_; }

 private:
  std::vector<std::byte> values_;
  std::optional<FieldStorage> field_;
};

struct Arrays {
  Arrays(const Grid& grid, Precision precision, Memory memory, Strided strided)
      : u(grid, precision, memory, strided),
        u_old(grid, precision, memory, strided),
        c(grid, precision, memory, strided) {}
  OwnArray u, u_old, c;
};

SolveOptions options_of(const std::string& text, const char* backend, Precision precision) {
  SolveOptions options;
  options.problem = Problem::from_text(text);
  options.backend = backend;
  options.precision = precision;
  options.threads = 1;
  options.tuning_seconds = 0;
  return options;
}

void fill(const Grid& grid, const Arrays& arrays, const SolveOptions& like) {
  SolveOptions options = like;
  options.problem = Problem::from_text(values_alone);
  options.sweeps = 0;
  using Use = SolveOptions::Array::Use;
  options.arrays = {{"u", arrays.u.field(), Use::result},
                    {"u_old", arrays.u_old.field(), Use::result},
                    {"c", arrays.c.field(), Use::result}};
  solve(world(), grid, options);
}

SolveResult run_with(const Grid& grid, const Arrays& arrays, SolveOptions options,
                     std::int64_t sweeps) {
  options.sweeps = sweeps;
  options.precision.reset();  // the arrays'
  options.arrays = {{"u", arrays.u.field()},
                    {"u_old", arrays.u_old.field()},
                    {"c", arrays.c.field(), SolveOptions::Array::Use::start}};
  return solve(world(), grid, options);
}

void expect_bits_of_the_text(const char* backend, Precision precision, Memory memory,
                             Strided strided) {
  SCOPED_TRACE(testing::Message() << backend << ", " << name_of(precision) << ", "
                                  << name_of(memory) << ", strided " << static_cast<int>(strided));
  const Grid grid(world(), {.cells = cells_of_all(), .periodic = {}});
  const SolveOptions by_text = options_of(waves_from(true), backend, precision);
  const SolveResult whole = solve(world(), grid, by_text);

  const Arrays arrays(grid, precision, memory, strided);
  fill(grid, arrays, by_text);
  const SolveOptions from_arrays = options_of(waves_from(false), backend, precision);
  // In two runs, so that the second starts from what the first gave.
  run_with(grid, arrays, from_arrays, 4);
  const SolveResult rest = run_with(grid, arrays, from_arrays, 5);
  ASSERT_EQ(rest.fields.size(), 2u);
  for (std::size_t f = 0; f < 2; ++f) EXPECT_EQ(rest.fields[f].checksum, whole.fields[f].checksum);
  EXPECT_EQ(checksum(world(), grid, arrays.u.field()), whole.fields[0].checksum);
  EXPECT_EQ(checksum(world(), grid, arrays.u_old.field()), whole.fields[1].checksum);
  EXPECT_EQ(rest.norm_history.back().second, whole.norm_history.back().second);
  EXPECT_EQ(rest.precision, name_of(precision));
}

TEST(OwnArrays, GiveTheBitsOfTheText) {
  for (const Precision precision : {Precision::f32, Precision::f64})
    for (const Strided strided : {Strided::as_field, Strided::with_gaps, Strided::transposed})
      expect_bits_of_the_text("cpu", precision, Memory::host, strided);
  expect_bits_of_the_text("reference", Precision::f64, Memory::host, Strided::transposed);
}

TEST(OwnArrays, GiveTheBitsOfTheTextOnGpus) {
  NEED_GPU();
  for (const Memory memory : gpu_memories_here())
    expect_bits_of_the_text("cuda", Precision::f32, memory, Strided::as_field);
  expect_bits_of_the_text("cuda", Precision::f64, Memory::host, Strided::transposed);
  expect_bits_of_the_text("cpu", Precision::f64, Memory::device, Strided::as_field);

  // A GPU would have to turn rows into columns.
  const Grid grid(world(), {.cells = cells_of_all(), .periodic = {}});
  const Field<double> like(grid, {.memory = Memory::device});
  const Strides turned{like.strides().y, 1, 1, 1};
  const Field<double> columns(grid, like.first(), turned, {.halo = 0, .memory = Memory::device});
  SolveOptions options = options_of(waves_from(false), "cuda", Precision::f64);
  options.arrays = {{"u", columns}};
  EXPECT_THAT(caught([&] { solve(world(), grid, options); }).text, testing::HasSubstr("order yx"));
}

TEST(OwnArrays, OnGpusMayBeCopiedInParts) {
  NEED_GPU();
  // Two parts and a rest, of 32 MiB each.
  const Grid grid(world(), {.cells = {2048, 4500 * ranks()}, .periodic = {}});
  const Field<double> u(grid, {.memory = Memory::device});
  fill_noise(world(), grid, u, 7);
  const std::uint64_t before = checksum(world(), grid, u);
  SolveOptions options = options_of(values_alone, "cpu", Precision::f64);
  options.sweeps = 0;
  options.arrays = {{"u_old", u}};
  const SolveResult result = solve(world(), grid, options);
  EXPECT_EQ(result.fields[1].checksum, before);
  EXPECT_EQ(checksum(world(), grid, u), before);
}

TEST(OwnArrays, KeepWhatIsNotTheResult) {
  const Grid grid(world(), {.cells = cells_of_all(), .periodic = {}});
  const SolveOptions options = options_of(waves_from(false), "cpu", Precision::f64);
  const Arrays arrays(grid, Precision::f64, Memory::host, Strided::as_field);
  fill(grid, arrays, options);
  const std::uint64_t u = checksum(world(), grid, arrays.u.field()),
                      c = checksum(world(), grid, arrays.c.field());
  SolveOptions from_u = options;
  from_u.arrays = {{"u", arrays.u.field(), SolveOptions::Array::Use::start},
                   {"c", arrays.c.field()}};
  const SolveResult result = solve(world(), grid, from_u);
  EXPECT_NE(result.fields[0].checksum, u);
  EXPECT_EQ(checksum(world(), grid, arrays.u.field()), u);
  EXPECT_EQ(checksum(world(), grid, arrays.c.field()), c);
  // Halo cells are the program's.
  const auto& field = static_cast<const Field<double>&>(arrays.u.field());
  EXPECT_EQ(field(grid.owned().lower.x - 1, grid.owned().lower.y), 0.0);
}

TEST(OwnArrays, AreInCheckpoints) {
  const SharedFolder folder(world());
  const Grid grid(world(), {.cells = cells_of_all(), .periodic = {}});
  const SolveOptions by_text = options_of(waves_from(true), "cpu", Precision::f64);
  const SolveResult whole = solve(world(), grid, by_text);
  const Arrays arrays(grid, Precision::f64, Memory::host, Strided::transposed);
  fill(grid, arrays, by_text);
  SolveOptions options = options_of(waves_from(false), "cpu", Precision::f64);
  options.checkpoint = folder.path();
  run_with(grid, arrays, options, 4);

  // Arrays get the result, and are not read.
  SolveOptions restart;
  restart.restart = folder.path();
  restart.sweeps = 9;
  restart.threads = 1;
  const Field<double> u(grid);
  restart.arrays = {{"u", u}};
  const SolveResult rest = solve(world(), grid, restart);
  ASSERT_EQ(rest.fields.size(), 2u);
  for (std::size_t f = 0; f < 2; ++f) EXPECT_EQ(rest.fields[f].checksum, whole.fields[f].checksum);
  EXPECT_EQ(checksum(world(), grid, u), whole.fields[0].checksum);
  restart.arrays = {};
  restart.sweeps = 10;
  restart.verify = SolveOptions::Extra::yes;
  EXPECT_THAT(caught([&] { solve(world(), grid, restart); }).text,
              testing::HasSubstr("the program's array 'c'"));
}

void expect_refused(const SolveOptions& options, const Grid& grid, const char* about) {
  const Caught error = caught([&] { solve(world(), grid, options); });
  EXPECT_THAT(error, says(ErrorKind::usage, about));
}

TEST(OwnArrays, ThatDoNotFitAreRefused) {
  using Use = SolveOptions::Array::Use;
  const Grid grid(world(), {.cells = cells_of_all(), .periodic = {}});
  const Field<double> u(grid);
  const auto with = [&](std::vector<SolveOptions::Array> arrays) {
    SolveOptions options = options_of(waves_from(false), "cpu", Precision::f64);
    options.arrays = std::move(arrays);
    return options;
  };
  expect_refused(with({{"w", u}}), grid, "'w'");
  expect_refused(with({{"u", u}, {"u", u, Use::result}}), grid, "two arrays for 'u'");
  expect_refused(with({{"c", u}, {"c", u}}), grid, "two arrays for 'c'");
  expect_refused(with({{"u", Field<float>(grid)}}), grid, "4 bytes");
  expect_refused(with({{"u", Field<std::int64_t>(grid)}}), grid, "another type");
  expect_refused(with({{"u", Field<double>(grid, {.components = 2})}}), grid, "2 components");
  const Grid other(world(), {.cells = {24, 18}, .periodic = {}});
  expect_refused(with({{"u", Field<double>(other)}}), grid, "does not fit");

  SolveOptions options = with({{"u", u}});
  options.initial = "u.npy";
  expect_refused(options, grid, "initial");
  options = with({{"u", u}});
  options.verify = SolveOptions::Extra::yes;
  expect_refused(options, grid, "verify");
  options = with({{"u", u}});
  options.cells = {21, 18};
  expect_refused(options, grid, "'cells'");
  EXPECT_THAT(caught([&] { solve(world(), with({{"u", u}})); }), says(ErrorKind::usage, "grid"));
}

TEST(OwnArrays, AreNamedAlikeOnEveryRank) {
  if (ranks() == 1) GTEST_SKIP() << "one rank agrees with itself";
  const Grid grid(world(), {.cells = cells_of_all(), .periodic = {}});
  const Field<double> u(grid);
  SolveOptions options = options_of(waves_from(false), "cpu", Precision::f64);
  options.arrays = {{rank() == 1 ? "u_old" : "u", u}};
  expect_refused(options, grid, "array of u");
}

}  // namespace
}  // namespace halocline::test
