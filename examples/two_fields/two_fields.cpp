// SPDX-License-Identifier: Apache-2.0
// Gray-Scott reaction and diffusion: two fields, their halos exchanged together, your own loop.
#include <cstdio>

#include <halocline/halocline.hpp>

int main() {
  using namespace halocline;
  Runtime runtime;  // starts MPI
  const Communicator world = Communicator::world();
  const Grid grid(world, {.cells = {256, 128}, .periodic = {true, true}});
  const Field<double> u(grid, {.name = "u"}), v(grid, {.name = "v"}), du(grid), dv(grid);

  const auto for_each = [](const Box& box, auto&& cell) {
    for (auto y = box.lower.y; y < box.upper.y; ++y)
      for (auto x = box.lower.x; x < box.upper.x; ++x) cell(x, y);
  };
  const auto laplacian = [](const Field<double>& f, auto x, auto y) {
    return f(x - 1, y) + f(x + 1, y) + f(x, y - 1) + f(x, y + 1) - 4 * f(x, y);
  };
  const auto rates = [&](auto x, auto y) {
    const double reaction = u(x, y) * v(x, y) * v(x, y);
    du(x, y) = 0.16 * laplacian(u, x, y) - reaction + 0.035 * (1 - u(x, y));
    dv(x, y) = 0.08 * laplacian(v, x, y) + reaction - 0.1 * v(x, y);
  };
  for_each(grid.owned(), [&](auto x, auto y) {  // coordinates are global on every rank
    const bool spot = x / 8 == 16 && y / 8 == 8;
    u(x, y) = spot ? 0.5 : 1.0;
    v(x, y) = spot ? 0.25 : 0.0;
  });

  Exchange exchange(world, grid, {u, v});  // one message per neighbour, both fields
  for (int step = 0; step < 1000; ++step) {
    exchange.start();
    for_each(grid.interior(), rates);  // cells that need no halo, meanwhile
    exchange.finish();
    for (const Box& box : grid.boundary()) for_each(box, rates);
    for_each(grid.owned(), [&](auto x, auto y) {
      u(x, y) += du(x, y);
      v(x, y) += dv(x, y);
    });
  }
  if (grid.owned().contains(Int3{130, 70, 0})) std::printf("u(130, 70) = %.15f\n", u(130, 70));
}
