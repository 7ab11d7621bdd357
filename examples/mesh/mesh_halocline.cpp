// SPDX-License-Identifier: Apache-2.0
// The halo of a mesh on any 2-D process grid: mesh.cpp with Halocline, corners too.
#include <unistd.h>

#include <cstdio>

#include <halocline/halocline.hpp>

#include "../whole_number.hpp"

int main(int argc, char** argv) {
  using namespace halocline;
  alarm(60);  // nothing here runs for longer
  Runtime runtime;
  const Communicator world = Communicator::world();
  try {
    Extents process_grid{};  // left open: the one that sends least
    if (argc > 1) {
      const auto x = whole_number(argv[1], 1, 1'000'000);
      const auto y = whole_number(argc > 2 ? argv[2] : "", 1, 1'000'000);
      if (!x || !y) throw Error(ErrorKind::usage, "usage: mesh_halocline [PX PY]");
      process_grid = {*x, *y};
    }
    const Extents cells = {120, 80};
    const Grid grid(world, {.cells = cells, .process_grid = process_grid});
    const Field<double> u(grid, {.name = "u"});

    // The value of a cell says where it is. Outside the mesh it is the -1 that was there before.
    const Box inside{{0, 0, 0}, cells.values()};
    const auto value_at = [&](Int3 cell) {
      return inside.contains(cell) ? static_cast<double>(cell.x + 10000 * cell.y) : -1;
    };
    const Box held = u.shape().held();  // own cells and halo, in global coordinates
    for (auto y = held.lower.y; y < held.upper.y; ++y)
      for (auto x = held.lower.x; x < held.upper.x; ++x)
        u(x, y) = grid.owned().contains(Int3{x, y, 0}) ? value_at({x, y, 0}) : -1;

    Exchange exchange(world, grid, {u});
    exchange.run();

    long long wrong = 0;
    for (auto y = held.lower.y; y < held.upper.y; ++y)
      for (auto x = held.lower.x; x < held.upper.x; ++x) wrong += u(x, y) != value_at({x, y, 0});
    std::printf("rank %d at %lld, %lld of %lldx%lld: messages sent: %lld, wrong values: %lld\n",
                world.rank(), static_cast<long long>(grid.place_of(world.rank()).x),
                static_cast<long long>(grid.place_of(world.rank()).y),
                static_cast<long long>(grid.process_grid()[0]),
                static_cast<long long>(grid.process_grid()[1]),
                static_cast<long long>(exchange.info().messages), wrong);
    return wrong == 0 ? 0 : 1;
  } catch (const Error& error) {
    if (world.rank() == 0) std::fprintf(stderr, "%s\n", error.what());
    return error.kind() == ErrorKind::usage ? 2 : 4;
  }
}
