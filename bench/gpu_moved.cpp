// SPDX-License-Identifier: Apache-2.0
// Measures exchanges of fields in device memory, 26 neighbours, on any number of ranks: of the
// arrays that were planned, and of others in their place.
//
//   mpirun -n 2 bench_gpu_moved [CELLS ...]      cells of a rank along each axis, by default 100
//   and 256
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <halocline/halocline.hpp>

#include "device/queue.hpp"
#include "machine/gpu_binding.hpp"
#include "timing.hpp"

namespace {

using namespace halocline;
constexpr int repetitions = 11, calls = 300;

struct Fields {
  std::vector<Field<float>> all;

  Fields(const Grid& grid, int count) {
    for (int f = 0; f < count; ++f)
      all.emplace_back(grid, FieldOptions{.name = fmt::format("u{}", f), .memory = Memory::device});
  }
  FieldList list() const { return {all.begin(), all.end()}; }
};

void measure(const Communicator& world, std::int64_t side, int count) {
  const Grid grid(world, {.cells = {side, side, side * world.size()},
                          .periodic = {true, true, true},
                          .process_grid = {1, 1, world.size()}});
  const Fields planned(grid, count), other(grid, count);
  const FieldList others = other.list();
  const device::OwnedStream stream;
  Exchange exchange(world, grid, planned.list(), {.transport = "peer"});

  const bench::Compared times = bench::compared(
      repetitions, calls, [&] { exchange.run(stream.get()); },
      [&] { exchange.run(others, stream.get()); }, [&] { device::synchronize(stream.get()); });
  if (world.rank() != 0) return;
  const bench::Times &a = times.first, &b = times.second;
  fmt::print("{:<14} {:>6} {:>9.2f} {:>9.2f} {:>9.2f} {:>9.2f} {:>8.3f}\n",
             fmt::format("{0}x{0}x{0}", side), count, a.best, a.median, b.best, b.median,
             times.ratio);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const Runtime runtime;
  const Communicator world = Communicator::world();
  try {
    const machine::GpuBinding binding = machine::bind_gpu(world);
    if (world.rank() == 0)
      fmt::print(
          "us per exchange in fp32, periodic, faces, edges and corners, {} rank(s), {}, {} on "
          "each,\n"
          "means of {} calls, {} repetitions\n"
          "{:<14} {:>6} {:>19} {:>19} {:>8}\n{:<14} {:>6} {:>9} {:>9} {:>9} {:>9} {:>8}\n",
          world.size(), binding.gpu.name, binding.ranks_on_gpu, calls, repetitions, "", "",
          "planned", "others", "ratio", "cells/rank", "fields", "best", "median", "best", "median",
          "median");
    std::vector<std::int64_t> sides;
    for (int i = 1; i < argc; ++i) sides.push_back(std::atol(argv[i]));
    if (sides.empty()) sides = {100, 256};
    for (const std::int64_t side : sides)
      for (const int count : {1, 3, 8}) measure(world, side, count);
    return 0;
  } catch (const Error& error) {
    if (world.rank() == 0) fmt::print(stderr, "bench_gpu_moved: {}\n", error.what());
    return 3;
  }
}
