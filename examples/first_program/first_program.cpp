// SPDX-License-Identifier: Apache-2.0
// Averages of four neighbours on a periodic grid, on any number of ranks.
#include <cstdio>

#include <halocline/halocline.hpp>

int main() {
  using namespace halocline;
  const Runtime runtime;  // starts MPI
  const Communicator world = Communicator::world();
  const Grid grid(world, {.cells = {256, 128}, .periodic = {true, true}});
  const Field<double> a(grid), b(grid);  // two time levels, all zero
  const Box mine = grid.owned();         // this rank's cells, in global coordinates
  if (mine.contains(Int3{100, 50, 0})) a(100, 50) = 1e6;

  LevelExchange halo(world, grid, {{a}, {b}});
  for (int step = 0; step < 100; ++step) {
    halo.run(step % 2);
    const Field<double>&from = step % 2 == 0 ? a : b, &to = step % 2 == 0 ? b : a;
    for (auto y = mine.lower.y; y < mine.upper.y; ++y)
      for (auto x = mine.lower.x; x < mine.upper.x; ++x)
        to(x, y) = 0.25 * (from(x - 1, y) + from(x + 1, y) + from(x, y - 1) + from(x, y + 1));
  }
  if (mine.contains(Int3{100, 50, 0})) std::printf("u(100, 50) = %.9f\n", a(100, 50));
}
