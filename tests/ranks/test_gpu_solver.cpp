// SPDX-License-Identifier: Apache-2.0
// The solver on GPUs: it stops where it does on the host, and gets the same bits, whatever does
// without the host.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <halocline/solver.hpp>

#include "base/process/environment.hpp"
#include "base/process/variables.hpp"
#include "base/text/notes.hpp"
#include "device/gpu.hpp"
#include "proof/environment_key.hpp"
#include "proof/records.hpp"
#include "proof/surroundings.hpp"
#include "solver/option_words.hpp"
#include "support/caught.hpp"
#include "support/exchange_cases.hpp"
#include "support/memories.hpp"
#include "support/random.hpp"
#include "support/ranks.hpp"
#include "support/small_solve.hpp"
#include "support/turns.hpp"

namespace halocline::test {
namespace {

using testing::HasSubstr;

/// Expects of a run on GPUs the sweeps, norms and bits that it has on the host.
SolveResult expect_bits_of_the_host(const SolveOptions& options,
                                    const Communicator& communicator = world()) {
  SolveOptions on_host = options;
  on_host.backend = "cpu";
  on_host.transport = on_host.schedule = "auto";
  on_host.graph = SolveOptions::Graphs::automatic;
  const SolveResult expected = solve(world(), on_host), result = solve(communicator, options);
  EXPECT_EQ(result.converged, expected.converged);
  EXPECT_EQ(result.sweeps, expected.sweeps);
  EXPECT_EQ(result.norm_history, expected.norm_history);
  EXPECT_EQ(result.checksum, expected.checksum);
  return result;
}

/// A run that stops by itself does so after the same sweep, with the same norms, on a GPU, where
/// sweeps are queued before the norm is known.
TEST(Solver, StopsOnGpusWhereItStopsOnTheHost) {
  NEED_GPU();
  for (const std::int64_t every : {1, 7, 64, 65}) {
    SolveOptions options = small("laplace", {33, 31}, 400);
    options.tolerance = 0.03;
    options.norm_every = every;
    options.backend = "cuda";
    SCOPED_TRACE(every);
    EXPECT_TRUE(expect_bits_of_the_host(options).converged);
  }
}

bool has(std::string_view transport) {
  return ranks() > 1 && !not_testable(transport::find_transport(transport), Memory::device);
}

bool has_nccl() { return has("nccl"); }

/// The same ranks, as if they were on several nodes.
const Communicator& on_nodes_of(int ranks_per_node) {
  return communicator_with({.wait_limit = wait_limit, .ranks_per_node = ranks_per_node});
}

/// Runs on GPUs whose kernels do without the host: sweeps in graphs, norms that meet there.
SolveOptions on_gpus(std::int64_t number, const Extents& cells, std::int64_t sweeps) {
  SolveOptions options = small("laplace", cells, sweeps);
  options.backend = "cuda";
  options.transport = ranks() > 1 ? "peer" : "auto";
  options.schedule = number % 3 == 0 ? "overlap" : "sequential";
  options.graph = number % 2 == 0 ? SolveOptions::Graphs::on : SolveOptions::Graphs::off;
  options.halo_depth = 1 + number / 2 % 2;
  return options;
}

// Enough sweeps that batches of them are replayed, in every shape of process grid.
TEST(Solver, HasTheSameBitsInGraphs) {
  NEED_GPU();
  constexpr std::int64_t sweeps = 740;
  std::int64_t number = 0;
  for (const Extents& cells : {Extents{17, 23}, Extents{5, 7, 13}}) {
    SolveOptions plain = small("laplace", cells, sweeps);
    plain.backend = "cpu";
    plain.tolerance = 0;
    const SolveResult expected = solve(world(), plain);
    const auto grids = process_grids(cells.axes());
    for (const Extents& parts : {cells.axes() == 2 ? grids.front() : grids[grids.size() / 2]}) {
      SolveOptions options = on_gpus(number, cells, sweeps);
      options.process_grid = parts;
      options.tolerance = 0;
      options.norm_every = number % 2 == 0 ? 1 : 4;
      options.graph = SolveOptions::Graphs::on;
      ++number;
      const Int3 most = cells.values();
      if (most.x / parts.values().x < options.halo_depth ||
          most.y / parts.values().y < options.halo_depth ||
          (cells.axes() > 2 && most.z / parts.values().z < options.halo_depth))
        continue;
      const SolveResult result = solve(world(), options);
      EXPECT_GE(result.sweeps_in_graphs, 256) << number;
      EXPECT_EQ(result.checksum, expected.checksum) << number;
      if (options.norm_every == plain.norm_every.value_or(1)) {
        EXPECT_EQ(result.norm_history, expected.norm_history);
      }
    }
  }
}

/// Solves on the host, then by fused sweeps; by default, of ranks beside each other along the last
/// axis.
void expect_same_bits_of_fused(SolveOptions options) {
  options.tolerance.reset();
  if (options.process_grid.axes() == 0) {
    Int3 parts{1, 1, 1};
    parts[options.cells.axes() - 1] = ranks();
    options.process_grid = Extents(parts, options.cells.axes());
  }
  options.backend = "cuda";
  options.transport = "peer";
  options.schedule = "fused";
  EXPECT_EQ(expect_bits_of_the_host(options).schedule, "fused");
}

// Sweeps that send their halos themselves, with cells that fill strips and cells that do not, with
// and without layers between the short walks at both ends.
TEST(Solver, HasTheSameBitsWhereSweepsSendHalosOnGpus) {
  NEED_GPU_EACH();
  if (ranks() == 1) GTEST_SKIP() << "for several ranks";
  const std::int64_t n = 3 * ranks() + 1;
  std::size_t number = 0;
  for (const auto& [problem, cells] :
       {std::pair{"laplace", Extents{131, n}}, std::pair{"laplace", Extents{128, 21 * ranks()}},
        std::pair{"jacobi", Extents{67, n}}, std::pair{"laplace", Extents{9, 5, n}},
        std::pair{"laplace", Extents{40, 6, 5 * ranks()}},
        std::pair{"star7", Extents{16, 5, 20 * ranks() + 1}}})
    for (const Precision precision : {Precision::f32, Precision::f64})
      for (const Norm norm : {Norm::max, Norm::none}) {
        if (!has_turn(number++)) continue;
        SCOPED_TRACE(fmt::format("{} {} {}", problem, name_of(precision), name_of(norm)));
        SolveOptions options = small(problem, cells, 90);
        options.precision = precision;
        options.norm = norm;
        expect_same_bits_of_fused(options);
      }
}

// Halos of several layers, edges of tiles that updates read diagonally, ends with fewer layers than
// a walk, levels of which one holds an older field, boundaries, axes that kernels wrap around, one
// of them with fewer cells in its last tile than are read.
TEST(Solver, HasTheSameBitsWhereSweepsSendWideHalosOnGpus) {
  NEED_GPU_EACH();
  if (ranks() == 1) GTEST_SKIP() << "for several ranks";
  const std::int64_t n = ranks();
  std::size_t number = 0;
  for (const auto& [problem, cells, precision] :
       {std::tuple{"star13", Extents{140, 5, 20 * n + 1}, Precision::f32},
        std::tuple{"star25", Extents{24, 19, 13 * n}, Precision::f64},
        std::tuple{"star25", Extents{24, 9, 4 * n}, Precision::f32},
        std::tuple{"box27", Extents{136, 36, 9 * n}, Precision::f64},
        std::tuple{"box125", Extents{136, 65, 21 * n + 1}, Precision::f32},
        std::tuple{"smoother27", Extents{20, 7, 8 * n}, Precision::f64},
        // Kernels wrap around x only by whole vectors: here those halos are exchanged.
        std::tuple{"box27", Extents{131, 9, 7 * n}, Precision::f32},
        std::tuple{"acoustic", Extents{22, 21}, Precision::f32},
        std::tuple{"life", Extents{132, 19 * n}, Precision::f32},
        std::tuple{"heat_source", Extents{38, 37}, Precision::f64},
        std::tuple{"wave_sponge", Extents{65, 7 * n}, Precision::f32}}) {
    if (!has_turn(number++)) continue;
    SCOPED_TRACE(problem);
    // Of box125 a sweep takes as long as ten of the others, where CUDA runs on the CPU.
    SolveOptions options = small(problem, cells, problem == std::string("box125") ? 9 : 40);
    options.precision = precision;
    expect_same_bits_of_fused(options);
  }
}

// Halos for several sweeps, which update cells of them, sent by the last one, alone or with an
// exchange; runs that end within them.
TEST(Solver, HasTheSameBitsWhereSweepsSendDeepHalosOnGpus) {
  NEED_GPU_EACH();
  if (ranks() == 1) GTEST_SKIP() << "for several ranks";
  const std::int64_t n = ranks();
  const bool splits_two = n > 2 && n % 2 == 0;
  std::size_t number = 0;
  for (const auto& [problem, cells, process_grid, precision] :
       {std::tuple{"laplace", Extents{131, 6 * n + 1}, Extents{1, n}, Precision::f32},
        std::tuple{"laplace", Extents{260, 37 * n}, Extents{1, n}, Precision::f64},
        std::tuple{"jacobi", Extents{67, 7 * n}, Extents{1, n}, Precision::f32},
        std::tuple{"life", Extents{132, 19 * n}, Extents{1, n}, Precision::f32},
        std::tuple{"heat_source", Extents{38, 37}, Extents{1, n}, Precision::f64},
        std::tuple{"star7", Extents{16, 10, 20 * n + 1}, Extents{1, 1, n}, Precision::f32},
        std::tuple{"star25", Extents{24, 19, 17 * n}, Extents{1, 1, n}, Precision::f64},
        std::tuple{"box27", Extents{136, 36, 9 * n}, Extents{1, 1, n}, Precision::f64},
        std::tuple{"laplace", Extents{131, 13 * n}, Extents{2, n / 2}, Precision::f64},
        std::tuple{"star7", Extents{16, 10, 20 * n}, Extents{1, 2, n / 2}, Precision::f64},
        std::tuple{"box27", Extents{72, 36, 9 * n}, Extents{2, 1, n / 2}, Precision::f32}})
    for (const std::int64_t depth : {2, 3}) {
      if (process_grid[process_grid.axes() - 1] < n && !splits_two) continue;
      if (!has_turn(number++)) continue;
      SCOPED_TRACE(fmt::format("{} {}", problem, depth));
      SolveOptions options = small(problem, cells, 41);
      options.precision = precision;
      options.process_grid = process_grid;
      options.halo_depth = depth;
      options.norm = Norm::max;  // sums of squares differ by rounding
      expect_same_bits_of_fused(options);
    }
}

// The halos of other neighbours, beside, at edges and at corners, are exchanged after each sweep.
TEST(Solver, HasTheSameBitsWhereSweepsSendSomeHalosOnGpus) {
  NEED_GPU();
  if (ranks() < 4 || ranks() % 2 != 0 || !each_has_a_gpu())
    GTEST_SKIP() << "for 4 or more ranks, each with a GPU of its own";
  const std::int64_t n = ranks() / 2;
  for (const auto& [problem, cells, process_grid, precision] :
       {std::tuple{"laplace", Extents{131, 6 * n + 1}, Extents{2, n}, Precision::f32},
        std::tuple{"jacobi", Extents{67, 7 * n}, Extents{2, n}, Precision::f64},
        std::tuple{"life", Extents{132, 9 * n}, Extents{2, n}, Precision::f32},
        std::tuple{"laplace", Extents{9, 11, 5 * n}, Extents{1, 2, n}, Precision::f64},
        std::tuple{"star7", Extents{16, 10, 20 * n + 1}, Extents{1, 2, n}, Precision::f32},
        std::tuple{"star25", Extents{24, 19, 13 * n}, Extents{1, 2, n}, Precision::f64},
        std::tuple{"box27", Extents{72, 36, 9 * n}, Extents{1, 2, n}, Precision::f64},
        std::tuple{"box27", Extents{136, 10, 9 * n}, Extents{2, 1, n}, Precision::f32},
        std::tuple{"smoother27", Extents{20, 14, 8 * n}, Extents{1, 2, n}, Precision::f64}}) {
    SCOPED_TRACE(problem);
    SolveOptions options = small(problem, cells, 40);
    options.precision = precision;
    options.process_grid = process_grid;
    options.norm = Norm::max;  // sums of squares differ by rounding
    expect_same_bits_of_fused(options);
  }
}

TEST(Solver, SaysWhySweepsCannotSendHalosOnGpus) {
  NEED_GPU();
  SolveOptions options = small("laplace", {64, 64}, 5);
  options.backend = "cuda";
  options.schedule = "fused";
  options.layout = "brick";
  const Caught bricks = caught([&] { solve(world(), options); });
  EXPECT_EQ(bricks.kind, ErrorKind::unavailable);
  EXPECT_THAT(bricks.text, HasSubstr("fused cannot be used: the fields lie in bricks"));
  options.layout = "auto";
  options.backend = "cpu";
  EXPECT_EQ(caught([&] { solve(world(), options); }).kind, ErrorKind::unavailable);

  SolveOptions deep = small("acoustic", {64, 64}, 5);
  deep.backend = "cuda";
  deep.schedule = "fused";
  deep.halo_depth = 2;
  const Caught fields = caught([&] { solve(world(), deep); });
  EXPECT_EQ(fields.kind, ErrorKind::unavailable);
  EXPECT_THAT(fields.text, HasSubstr("fused cannot be used: with a halo depth of 2 the halos of 2 "
                                     "fields are exchanged"));
}

// Whole batches of sweeps in one launch each, and sweeps before, between and after them.
TEST(Solver, HasTheSameBitsWhereCellsStayInRegisters) {
  NEED_GPU_EACH();
  const std::int64_t n = 3 * ranks() + 1;
  std::size_t number = 0;
  for (const auto& [problem, cells] :
       {std::pair{"laplace", Extents{131, n}}, std::pair{"laplace", Extents{128, 17 * n}},
        std::pair{"jacobi", Extents{67, n}}, std::pair{"heat", Extents{300, 5 * n}},
        std::pair{"star7", Extents{24, 18, n}}, std::pair{"heat", Extents{13, 5, n}}})
    for (const Precision precision : {Precision::f32, Precision::f64})
      for (const std::int64_t every : {1, 7}) {
        if (!has_turn(number++)) continue;
        SolveOptions options = small(problem, cells, 200);
        options.tolerance = 0;
        options.norm = Norm::max;
        options.norm_every = every;
        options.precision = precision;
        options.process_grid = cells.axes() == 2 ? Extents{1, ranks()} : Extents{1, 1, ranks()};
        options.backend = "cuda";
        options.transport = ranks() > 1 ? "peer" : "auto";
        options.schedule = "persistent";
        SCOPED_TRACE(fmt::format("{} {}", problem, name_of(precision)));
        EXPECT_EQ(expect_bits_of_the_host(options).schedule, "persistent");
      }
}

// Tiles of 8 and of 16 rows, in each strip of cells the last with 3.
TEST(Solver, HasTheSameBitsWhereTilesInRegistersAreHigh) {
  NEED_GPU_EACH();
  // 256 cells are two strips, so that a block of 16 warps has 8 tiles of each. A GPU has room for
  // one block on each multiprocessor, of which one reduces norms.
  const std::int64_t blocks = device::gpus().list.front().multiprocessors - 1;
  for (const std::int64_t rows : {8 * blocks * 4 + 3, 8 * blocks * 8 + 3}) {
    SolveOptions options = small("laplace", {256, rows * ranks()}, 9);
    options.tolerance.reset();
    options.norm_every = 4;
    options.precision = Precision::f32;
    options.process_grid = Extents{1, ranks()};
    options.backend = "cuda";
    options.transport = ranks() > 1 ? "peer" : "auto";
    options.schedule = "persistent";
    SCOPED_TRACE(rows);
    expect_bits_of_the_host(options);
  }
}

TEST(Solver, StopsAfterAnySweepWhereCellsStayInRegisters) {
  NEED_GPU_EACH();
  SolveOptions options = small("laplace", {13, 4 * ranks() + 3}, 300);
  options.process_grid = Extents({1, ranks(), 1}, 2);
  options.backend = "cpu";
  options.tolerance = 0;
  const auto norms = solve(world(), options).norm_history;
  options.backend = "cuda";
  options.schedule = "persistent";
  options.transport = ranks() > 1 ? "peer" : "auto";
  options.verify = SolveOptions::Extra::yes;
  for (const std::int64_t stop : {0, 1, 2, 5, 64, 253, 254, 255, 256, 257, 258, 290}) {
    options.norm_every = stop % 2 == 0 ? 1 : 5;
    options.tolerance = norms[static_cast<std::size_t>(stop)].second;
    const SolveResult result = solve(world(), options);
    EXPECT_EQ(result.sweeps, 1 + last_sweep(norms, *options.norm_every, *options.tolerance))
        << stop;
    EXPECT_TRUE(result.converged);
    EXPECT_TRUE(result.verification->passed) << stop << ": " << result.verification->text;
    if (!all_well()) return;
  }
}

TEST(Solver, SaysWhyCellsCannotStayInRegisters) {
  NEED_GPU();
  SolveOptions options = small("laplace", {64, 64}, 5);
  options.schedule = "persistent";
  const auto why = [&](const char* backend) {
    options.backend = backend;
    const Caught error = caught([&] { solve(world(), options); });
    EXPECT_EQ(error.kind, ErrorKind::unavailable);
    return error.text;
  };
  EXPECT_THAT(why("cpu"),
              HasSubstr("persistent cannot be used: backend cpu cannot run it; it needs"));
  options.halo_depth = 2;
  EXPECT_THAT(why("cuda"), HasSubstr("the halo depth is 2"));
  options.halo_depth = 1;
  options.memory = Memory::managed;
  EXPECT_THAT(why("cuda"), HasSubstr("the fields are not in device memory"));
  options.memory.reset();
  options.problem = "heat";
  options.cells = {64};
  EXPECT_THAT(why("cuda"), HasSubstr("the grid has 1 axis, not 2 or 3"));
  options.problem = "laplace";
  if (ranks() > 1) {
    options.cells = {64, 64};
    options.transport = "staged";
    EXPECT_THAT(why("cuda"), HasSubstr("transport staged"));
    options.transport = "peer";
    options.process_grid = Extents({ranks(), 1, 1}, 2);
    EXPECT_THAT(why("cuda"), HasSubstr("ranks split the cells along x"));
    options.process_grid = Extents({1, ranks(), 1}, 2);
  } else {
    options.cells = {20'000, 2'000};
  }
  if (ranks() > 1 && each_has_a_gpu()) return;
  EXPECT_THAT(why("cuda"),
              HasSubstr(ranks() == 1 ? "registers hold at most " : "ranks share a GPU"));
}

TEST(Solver, StopsOnGpusAfterAnySweep) {
  NEED_GPU();
  constexpr std::int64_t sweeps = 900, most = 200;
  const Extents cells{13, 4 * ranks() + 3};
  SolveOptions options = small("laplace", cells, sweeps);
  options.backend = "cpu";
  options.tolerance = 0;
  const auto history = solve(world(), options).norm_history;
  options.norm = Norm::l2;
  const auto l2_history = solve(world(), options).norm_history;
  // HALOCLINE_ALL_STOPS=1: every one; else those around the ends of batches, and some at random.
  std::vector<std::int64_t> stops{0, 1, 2, 62, 63, 64, 65, 127, 128, 191, 192, 199};
  SCOPED_TRACE(how_to_repeat(17));
  Random random(17);
  for (int i = 0; i < 4; ++i) stops.push_back(random.between(3, most - 1));
  // Each number of ranks takes some of them; one takes all.
  const auto is_others = [&](std::int64_t stop) { return (stop + stop / 64) % 3 != ranks() % 3; };
  if (environment("HALOCLINE_ALL_STOPS")) {
    stops.clear();
    for (std::int64_t sweep = 0; sweep < most; ++sweep) stops.push_back(sweep);
    allow(std::chrono::seconds(900));
  }
  static constexpr std::int64_t intervals[] = {1, 2, 7, 64, 100};
  for (std::size_t i = 0; i < stops.size(); ++i) {
    if (ranks() > 1 && !environment("HALOCLINE_ALL_STOPS") && is_others(stops[i])) continue;
    const std::int64_t every = intervals[i % 5], number = static_cast<std::int64_t>(i);
    options = on_gpus(number + number / 5, cells, sweeps);
    options.norm = i % 4 == 3 ? Norm::l2 : Norm::max;
    const auto& norms = i % 4 == 3 ? l2_history : history;
    // Between two norms, so that an L2 norm need not be the same to the last bit.
    const double now = norms[static_cast<std::size_t>(stops[i])].second;
    options.tolerance = options.norm == Norm::l2 ? now * (1 + 1e-9) : now;
    options.norm_every = every;
    options.verify = SolveOptions::Extra::yes;
    const bool by_nccl = has_nccl() && number / 2 % 2 != 0;
    if (by_nccl) options.transport = "nccl";
    const SolveResult result = solve(by_nccl ? on_nodes_of(1) : world(), options);
    EXPECT_EQ(result.sweeps, 1 + last_sweep(norms, every, *options.tolerance)) << stops[i];
    EXPECT_TRUE(result.converged);
    EXPECT_TRUE(result.verification->passed)
        << "stopped by sweep " << stops[i] << ", norm every " << every << ", graph "
        << solver::word_for(options.graph) << (by_nccl ? ", nccl" : "") << ": "
        << result.verification->text;
    if (!all_well()) return;
  }
}

// Neither exchanges nor norms need the host, on one node or several.
TEST(Solver, StaysOnGpusBetweenNodes) {
  NEED_GPU();
  if (!has_nccl()) GTEST_SKIP() << "it takes NCCL and 2 ranks";
  for (const auto& [nodes_of, transport] :
       {std::pair{1, "nccl"}, std::pair{2, "same-node=peer,other-node=nccl"}, std::pair{2, "nccl"}})
    for (const Norm norm : {Norm::max, Norm::l2}) {
      const bool is_max = norm == Norm::max;
      SolveOptions options =
          is_max ? small("jacobi", {37, 29}, 150) : small("star7", {9, 8, 11}, 220);
      options.norm = norm;
      options.norm_every = is_max ? 1 : 7;
      options.tolerance = 0;
      options.backend = "cpu";
      const SolveResult expected = solve(world(), options);
      options.backend = "cuda";
      options.transport = transport;
      options.schedule = is_max ? "sequential" : "overlap";
      options.graph = SolveOptions::Graphs::on;
      const SolveResult result = solve(on_nodes_of(nodes_of), options);
      SCOPED_TRACE(std::string(transport) + ' ' + options.schedule);
      EXPECT_EQ(result.checksum, expected.checksum);
      EXPECT_GT(result.sweeps_in_graphs, 0);
      ASSERT_EQ(result.norm_history.size(), expected.norm_history.size());
      for (std::size_t i = 0; i < result.norm_history.size(); ++i)
        EXPECT_NEAR(result.norm_history[i].second, expected.norm_history[i].second,
                    is_max ? 0 : 1e-12 * expected.norm_history[i].second);
      if (!all_well()) return;
    }
}

// NVSHMEM's heap, or its puts, within nodes and between them. Norms between nodes are the host's,
// so that graphs go without.
TEST(Solver, HasTheSameBitsOverNvshmem) {
  NEED_GPU();
  if (!has("nvshmem")) GTEST_SKIP() << "it takes NVSHMEM and 2 ranks";
  for (const char* transport : {"nvshmem", "same-node=peer,other-node=nvshmem"})
    for (const Norm norm : {Norm::max, Norm::none}) {
      SolveOptions options =
          norm == Norm::max ? small("jacobi", {37, 29}, 90) : small("star7", {9, 8, 11}, 150);
      options.norm = norm;
      options.tolerance.reset();
      options.backend = "cuda";
      options.transport = transport;
      options.schedule = norm == Norm::max ? "overlap" : "sequential";
      if (norm == Norm::none) options.graph = SolveOptions::Graphs::on;
      SCOPED_TRACE(transport);
      expect_bits_of_the_host(options, on_nodes_of(2));
      if (!all_well()) return;
    }
}

// Sweeps store into halos of their node, and calls serve the others.
TEST(Solver, HasTheSameBitsWhereSweepsSendHalosWithinNodes) {
  NEED_GPU();
  if (!has_nccl() || !has("nvshmem") || ranks() < 3 || !each_has_a_gpu())
    GTEST_SKIP() << "it takes NCCL, NVSHMEM and 3 ranks with a GPU each";
  struct Case {
    const char* library;
    SolveOptions::Graphs graph;
    std::int64_t halo_depth;
  };
  constexpr auto off = SolveOptions::Graphs::off, on = SolveOptions::Graphs::on;
  const std::int64_t n = 3 * ranks() + 1;
  for (const Extents& cells : {Extents{131, n}, Extents{9, 5, n}, Extents{128, 4 * n}})
    for (const auto& [library, graph, halo_depth] :
         {Case{"nccl", off, 1}, Case{"nccl", on, 1}, Case{"nvshmem", off, 1}, Case{"nccl", off, 3},
          Case{"nccl", on, 2}, Case{"nvshmem", off, 2}}) {
      SCOPED_TRACE(fmt::format("{} {} {}", library, cells.axes(), halo_depth));
      SolveOptions options = small("laplace", cells, 150);
      options.process_grid = cells.axes() == 2 ? Extents{1, ranks()} : Extents{1, 1, ranks()};
      options.tolerance = 0;
      options.norm_every = 3;
      options.backend = "cuda";
      options.transport = std::string("same-node=peer,other-node=") + library;
      options.schedule = "fused";
      options.graph = graph;
      options.halo_depth = halo_depth;
      const SolveResult result = expect_bits_of_the_host(options, on_nodes_of(2));
      EXPECT_EQ(result.sweeps_in_graphs > 0, graph == SolveOptions::Graphs::on);
      if (!all_well()) return;
    }
}

/// A file with proofs that NCCL works between nodes, as doctor would keep them; of rank 0, which
/// reads them.
std::string file_with_proof_of_nccl() {
  std::string path = testing::TempDir() + "/halocline_proofs_of_nccl.json";
  if (rank() > 0) return path;
  std::remove(path.c_str());
  const proof::EnvironmentKey key =
      proof::environment_key(proof::this_environment(current_variables()));
  Notes notes;
  proof::keep_proofs({.path = path, .place = proof::ProofsFile::Place::named},
                     {{.path = "nccl",
                       .pair = proof::GpuPair::other_node,
                       .outcome = proof::Outcome::works,
                       .when = "2026-01-31T12:00:00Z",
                       .key = key.hash,
                       .ingredients = key.ingredients}},
                     notes);
  return path;
}

// Between nodes auto measures what is proved. Without a proof it says how to get one.
TEST(Solver, RacesNcclBetweenNodes) {
  NEED_GPU();
  if (!has_nccl()) GTEST_SKIP() << "it takes NCCL and 2 ranks";
  SolveOptions options = small("laplace", {64, 48}, 30);
  options.backend = "cpu";
  const SolveResult expected = solve(world(), options);
  options.backend = "cuda";
  const auto raced = [](const SolveResult& result) {
    std::vector<std::string> names;
    for (const ExchangeInfo::Race& race : result.races) names.push_back(race.transport);
    return names;
  };
  options.proofs = testing::TempDir() + "/no_such_proofs.json";
  const SolveResult unproved = solve(on_nodes_of(1), options);
  EXPECT_THAT(raced(unproved), testing::Not(testing::Contains("nccl")));
  EXPECT_THAT(unproved.notes, testing::Contains(testing::AllOf(HasSubstr("nccl was left out"),
                                                               HasSubstr("halocline doctor"))));
  options.proofs = file_with_proof_of_nccl();
  const SolveResult proved = solve(on_nodes_of(1), options);
  EXPECT_THAT(raced(proved), testing::ElementsAre("nccl", "staged"));
  EXPECT_EQ(unproved.checksum, expected.checksum);
  EXPECT_EQ(proved.checksum, expected.checksum);
  options.tuning_seconds = 120;  // more than it takes beside other work
  options.schedule = "sequential";
  options.graph = SolveOptions::Graphs::off;
  const SolveResult tuned = solve(on_nodes_of(1), options);
  std::vector<std::string> tried;
  for (const SolveResult::Choice::Tried& one : tuned.choice.tried) tried.push_back(one.transport);
  EXPECT_THAT(tried, testing::AllOf(testing::Contains("other-node=nccl"),
                                    testing::Contains("other-node=staged")));
  EXPECT_THAT(raced(tuned), testing::ElementsAre("nccl", "staged"));
  EXPECT_EQ(tuned.checksum, expected.checksum);
}

// Registering memory takes all ranks: if a variable keeps one from it, none does.
TEST(Solver, RunsByNcclWhereOneRankMayNotRegister) {
  NEED_GPU();
  if (!has_nccl()) GTEST_SKIP() << "it takes NCCL and 2 ranks";
  SolveOptions options = small("star7", {9, 8, 11}, 10);
  options.backend = "cuda";
  options.transport = "nccl";
  if (rank() == 0) ::setenv("HALOCLINE_NCCL_WINDOWS", "off", 1);
  // A communicator of its own, which has not started NCCL yet.
  const Communicator& fresh =
      communicator_with({.wait_limit = wait_limit, .piece_bytes = std::int64_t{1} << 28});
  expect_bits_of_the_host(options, fresh);
  ::unsetenv("HALOCLINE_NCCL_WINDOWS");
}

}  // namespace
}  // namespace halocline::test
