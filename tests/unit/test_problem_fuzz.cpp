// SPDX-License-Identifier: Apache-2.0
// Hostile problem files: changed texts of good ones are refused or solved, and nothing else. What
// must not be: a crash, a hang, an error that is none of the user's, a key that is not known,
// backends that differ, memory out of proportion. HALOCLINE_FUZZ=TEXTS[,SEED] tries as many as
// that. The text that is being tried is in problem_fuzz.toml, which stays if it ends the program.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <halocline/error.hpp>
#include <halocline/solver.hpp>

#include "base/process/environment.hpp"
#include "field/cells.hpp"
#include "field/elements.hpp"
#include "problem/catalogue.hpp"
#include "solver/case.hpp"
#include "solver/engine/levels.hpp"
#include "stencil/fill.hpp"
#include "stencil/ghosts.hpp"
#include "stencil/sweep.hpp"
#include "support/problem_oracle.hpp"
#include "unit/mutations.hpp"

namespace halocline::test {
namespace {

// ---- solving ----

/// The fields after one sweep of a backend, without MPI.
solver::Level swept(const solver::Case& the_case, const Grid& grid, const char* backend) {
  const problem::Model& model = *the_case.model;
  solver::Levels levels = solver::make_levels(the_case, grid, 1, Memory::host);
  const solver::Level coefficients = solver::make_coefficients(the_case, grid, 1, Memory::host);
  for (std::size_t f = 0; f < model.fields.size(); ++f)
    stencil::fill_start(levels[0][f], model, model.fields[f].initial.expression, 1);
  for (std::size_t i = 0; i < coefficients.size(); ++i)
    stencil::fill_coefficient(coefficients[i], model, model.coefficients[i].values.expression, 1);
  const stencil::Ghosts ghosts(model, grid, levels[0][0].shape());
  ghosts.fill_fixed(levels[0]);
  if (model.ghosts_change())
    stencil::make_host_ghosts(ghosts)->fill(levels[0], 0, {}, stencil::Ghosts::Beside::held,
                                            Stream::host());
  stencil::find_backend(backend)
      .make(model, {.threads = 1})
      ->run(
          {.in = levels[0], .out = levels[1], .region = grid.owned(), .coefficients = coefficients},
          Stream::host());
  return levels[1];
}

/// Returns whether two fields differ in a cell, but for what kind of NaN it is.
bool differ(const FieldStorage& a, const FieldStorage& b) {
  const Box& owned = a.shape().owned;
  return field::with_real(a, [&]<class Real>() {
    const FieldView<Real> left = field::view_of<Real>(a), right = field::view_of<Real>(b);
    for (std::int64_t z = owned.lower.z; z < owned.upper.z; ++z)
      for (std::int64_t y = owned.lower.y; y < owned.upper.y; ++y)
        for (std::int64_t x = owned.lower.x; x < owned.upper.x; ++x) {
          const Real l = left(x, y, z), r = right(x, y, z);
          if (!(l == r) && !(l != l && r != r)) return true;
        }
    return false;
  });
}

/// What became of a text: accepted or refused, or why it shows a fault.
struct Outcome {
  bool is_accepted = false;
  std::string fault = {};
};

bool has_file(const problem::Model& model) {
  return std::any_of(model.fields.begin(), model.fields.end(),
                     [](const auto& field) { return field.initial.file.has_value(); }) ||
         std::any_of(model.coefficients.begin(), model.coefficients.end(),
                     [](const auto& one) { return one.values.file.has_value(); });
}

/// Returns the field in which backends differ after a sweep of some cells, which take no time.
std::optional<std::string> different_field(SolveOptions options, const problem::Model& model) {
  options.cells = Extents({19, 11, 10}, model.axes);
  std::optional<solver::Case> small;
  try {
    small = solver::make_case(options, 1);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::usage) throw;
    return std::nullopt;  // unstable on such a grid, or a side is read too far
  }
  const Grid grid(0, 1, small->grid);
  const solver::Level plain = swept(*small, grid, "reference"), fast = swept(*small, grid, "cpu");
  for (std::size_t f = 0; f < plain.size(); ++f)
    if (differ(plain[f], fast[f])) return model.fields[f].name;
  return std::nullopt;
}

Outcome try_text(const std::string& text) {
  SolveOptions options;
  options.problem = Problem::from_text(text);
  Outcome outcome;
  try {
    const solver::Case own = solver::make_case(options, 1);
    outcome.is_accepted = true;
    const problem::Model& model = *own.model;
    outcome.fault = fault_of(model, text);
    if (!has_file(model))
      if (const auto field = different_field(options, model))
        outcome.fault = "backends differ in field " + *field;
  } catch (const Error& error) {
    outcome.fault =
        outcome.is_accepted ? fmt::format("an error: {}", error.what()) : fault_of(error);
  } catch (const std::exception& error) {
    outcome.fault = fmt::format("an exception: {}", error.what());
  }
  return outcome;
}

// ---- the run ----

std::vector<std::string> texts_to_begin_with() {
  std::vector<std::string> texts;
  for (const problem::BuiltIn& one : problem::built_in_problems()) texts.emplace_back(one.text);
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(CORPUS))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const std::filesystem::path& path : files) {
    std::ifstream file(path, std::ios::binary);
    texts.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return texts;
}

/// The most memory that the program had so far, in KiB.
long peak_memory() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

void keep(const std::string& text) { std::ofstream("problem_fuzz.toml", std::ios::binary) << text; }

TEST(ProblemFuzz, EveryTextIsRefusedOrSolved) {
  const std::string wanted = environment("HALOCLINE_FUZZ").value_or("3000");
  const std::size_t comma = wanted.find(',');
  const long count = std::atol(wanted.c_str());
  const std::uint64_t seed =
      comma == wanted.npos ? 1 : std::strtoull(wanted.c_str() + comma + 1, nullptr, 10);
  std::vector<std::string> texts = texts_to_begin_with();
  const auto begun_with = static_cast<long>(texts.size());
  long accepted = 0;
  const long memory = peak_memory();
  const auto is_well = [&](const std::string& text) {
    keep(text);
    const Outcome outcome = try_text(text);
    accepted += outcome.is_accepted ? 1 : 0;
    // Of texts of 20 KiB at the most; instrumented programs take more.
    const bool is_small = peak_memory() - memory < 512 << 10;
    EXPECT_TRUE(is_small) << "it took " << (peak_memory() - memory) / 1024 << " MiB";
    EXPECT_EQ(outcome.fault, "") << "of problem_fuzz.toml";
    return is_small && outcome.fault.empty();
  };
  // As they are first, all of them good.
  for (const std::string& text : texts) ASSERT_TRUE(is_well(text));
  EXPECT_EQ(accepted, begun_with);
  Mutations mutations(seed, std::move(texts));
  for (long i = 0; i < count; ++i)
    ASSERT_TRUE(is_well(mutations.next())) << "text " << i << " of seed " << seed;
  EXPECT_GT(accepted - begun_with, count / 20) << "too few to tell of solving";
  std::filesystem::remove("problem_fuzz.toml");
  std::printf("%ld texts of seed %llu: %ld accepted, the others refused\n", count,
              static_cast<unsigned long long>(seed), accepted - begun_with);
}

}  // namespace
}  // namespace halocline::test
