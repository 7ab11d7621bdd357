// SPDX-License-Identifier: Apache-2.0
// Measures how long it takes to make an exchange plan, and the first exchange after it.
// mpirun -n 8 bench_plan
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include <halocline/halocline.hpp>

#include "comm/collectives.hpp"

namespace {

using namespace halocline;

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

void measure(const Communicator& world, const std::string& transport) {
  const Grid grid(world, {.cells = {256, 256, 256}, .periodic = {true, true, true}});
  const Field<double> u(grid, {.name = "u"}), v(grid, {.name = "v"}), w(grid, {.name = "w"});
  std::vector<double> plan_ms, first_ms, next_ms;
  for (int repetition = 0; repetition < 7; ++repetition) {
    comm::barrier(world);
    auto start = std::chrono::steady_clock::now();
    Exchange exchange(world, grid, {u, v, w}, {.transport = transport});
    plan_ms.push_back(comm::max_over_ranks(world, milliseconds_since(start)));
    for (std::vector<double>* times : {&first_ms, &next_ms}) {
      comm::barrier(world);
      start = std::chrono::steady_clock::now();
      exchange.run();
      times->push_back(comm::max_over_ranks(world, milliseconds_since(start)));
    }
  }
  if (world.rank() != 0) return;
  for (std::vector<double>* times : {&plan_ms, &first_ms, &next_ms})
    std::sort(times->begin(), times->end());
  std::printf("%-10s %9.2f %9.2f %9.2f %9.2f %9.2f %9.2f\n", transport.c_str(), plan_ms.front(),
              plan_ms[3], first_ms.front(), first_ms[3], next_ms.front(), next_ms[3]);
}

}  // namespace

int main() {
  const Runtime runtime;
  const Communicator world = Communicator::world();
  if (world.rank() == 0)
    std::printf(
        "ms, %d ranks, 256^3 fp64 triply periodic, 3 fields, 26 neighbours, 7 repetitions\n"
        "%-10s %19s %19s %19s\n%-10s %9s %9s %9s %9s %9s %9s\n",
        world.size(), "", "plan", "first exchange", "second exchange", "transport", "best",
        "median", "best", "median", "best", "median");
  measure(world, "shared");
  measure(world, "mpi");
}
