// SPDX-License-Identifier: Apache-2.0
// Measures what a cell of an x face costs next to one of a y or z face: what the choice of a
// process grid assumes (src/grid/decomposition.cpp). mpirun -n 2 bench_faces
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include <halocline/halocline.hpp>

#include "comm/collectives.hpp"

namespace {

using namespace halocline;

double microseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
      .count();
}

Exchange make_exchange(const Communicator& world, const Field<double>& field, const Grid& grid,
                       const char* transport) {
  return Exchange(world, grid, {field}, {.neighbours = Neighbours::faces, .transport = transport});
}

/// Median microseconds of an exchange across faces of one axis, fields cold in the cache.
double measure(const Communicator& world, int axis, std::int64_t n, const char* transport) {
  Int3 parts{1, 1, 1};
  parts[axis] = 2;
  const Grid grid(world, {.cells = {n, n, n}, .process_grid = Extents(parts, 3)});
  const Field<double> field(grid);
  Exchange exchange = make_exchange(world, field, grid, transport);
  std::vector<double> us;
  for (int repetition = 0; repetition < 31; ++repetition) {
    for (std::int64_t z = grid.owned().lower.z; z < grid.owned().upper.z; ++z)
      for (std::int64_t y = grid.owned().lower.y; y < grid.owned().upper.y; ++y)
        for (std::int64_t x = grid.owned().lower.x; x < grid.owned().upper.x; ++x)
          field(x, y, z) += 1;  // as a sweep would, so that a face is no longer in the cache
    comm::barrier(world);
    const auto start = std::chrono::steady_clock::now();
    exchange.run();
    us.push_back(comm::max_over_ranks(world, microseconds_since(start)));
  }
  std::nth_element(us.begin(), us.begin() + 15, us.end());
  return us[15];
}

}  // namespace

int main() {
  const Runtime runtime;
  const Communicator world = Communicator::world();
  if (world.rank() == 0)
    std::printf(
        "us per exchange of one face each way, 2 ranks, median of 31, after a sweep\n"
        "%-10s %6s %9s %9s %9s %8s %8s\n",
        "transport", "cells", "x face", "y face", "z face", "x/z", "y/z");
  for (const char* transport : {"mpi", "shared"})
    for (const std::int64_t n : {64, 128, 256}) {
      double us[3];
      for (int axis = 0; axis < 3; ++axis) us[axis] = measure(world, axis, n, transport);
      if (world.rank() == 0)
        std::printf("%-10s %4lld^3 %9.1f %9.1f %9.1f %8.2f %8.2f\n", transport,
                    static_cast<long long>(n), us[0], us[1], us[2], us[0] / us[2], us[1] / us[2]);
    }
}
