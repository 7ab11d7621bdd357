// SPDX-License-Identifier: Apache-2.0
// Heat along a rod, by ranks with several threads each: u' = u + r ((left - 2 u) + right).
#include <mpi.h>
#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <numbers>
#include <vector>

#include "../whole_number.hpp"

namespace {

constexpr double r = 2.0 * 1e-4 / (0.1 * 0.1);  // alpha dt / dx^2; stable up to 0.5

// The bump that the rod starts with. It keeps its shape: each step multiplies it by the same
// number, so the discrete solution is known for every step.
double start(long long cell, long long cells) {
  return std::sin(std::numbers::pi * static_cast<double>(cell + 1) /
                  static_cast<double>(cells + 1));
}
double exact(long long cell, long long cells, long long steps) {
  const double s = std::sin(std::numbers::pi / (2.0 * static_cast<double>(cells + 1)));
  return start(cell, cells) * std::pow(1 - 4 * r * s * s, static_cast<double>(steps));
}

// Gets the cells next to this rank's from its neighbours. Beyond the ends of the rod there is
// nobody, MPI_PROC_NULL: nothing is received there, and the 0 of the boundary stays.
void exchange(std::vector<double>& u, int left, int right) {
  const std::size_t end = u.size() - 1;
  MPI_Sendrecv(&u[1], 1, MPI_DOUBLE, left, 0, &u[end], 1, MPI_DOUBLE, right, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Sendrecv(&u[end - 1], 1, MPI_DOUBLE, right, 1, &u[0], 1, MPI_DOUBLE, left, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}

void print_rod(const std::vector<double>& u, long long cells, int rank, int ranks) {
  std::vector<double> rod(static_cast<std::size_t>(cells));
  std::vector<int> counts, offsets;
  for (int i = 0; i < ranks; ++i) {
    offsets.push_back(static_cast<int>(cells * i / ranks));
    counts.push_back(static_cast<int>(cells * (i + 1) / ranks) - offsets.back());
  }
  MPI_Gatherv(&u[1], static_cast<int>(u.size()) - 2, MPI_DOUBLE, rod.data(), counts.data(),
              offsets.data(), MPI_DOUBLE, 0, MPI_COMM_WORLD);
  if (rank == 0)
    for (const double value : rod) std::printf("%.15f\n", value);
}

}  // namespace

int main(int argc, char** argv) {
  alarm(60);  // nothing here runs for longer
  int level, rank, ranks;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);  // threads, but one calls MPI
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const auto cells = whole_number(argc > 1 ? argv[1] : "9", ranks, 1'000'000'000);
  const auto steps = whole_number(argc > 2 ? argv[2] : "3", 0, 1'000'000);
  if (!cells || !steps || level < MPI_THREAD_FUNNELED) {
    if (rank == 0)
      std::fprintf(stderr,
                   "usage: heat_1d [CELLS [STEPS]], at least one cell for each of the %d ranks, "
                   "at most 10^9, and 10^6 steps%s\n",
                   ranks, level < MPI_THREAD_FUNNELED ? "; this MPI allows no threads" : "");
    MPI_Finalize();
    return 2;
  }
  const long long first = *cells * rank / ranks, end = *cells * (rank + 1) / ranks;
  const auto own = static_cast<std::size_t>(end - first);
  std::vector<double> u(own + 2), next(own + 2);  // with a halo cell at either end
  for (std::size_t i = 0; i < own; ++i) u[i + 1] = start(first + static_cast<long long>(i), *cells);

  const int left = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  const int right = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
  for (long long step = 0; step < *steps; ++step) {
    exchange(u, left, right);
#pragma omp parallel for
    for (std::size_t i = 1; i <= own; ++i) next[i] = u[i] + r * ((u[i - 1] - 2 * u[i]) + u[i + 1]);
    std::swap(u, next);
  }

  double error = 0;
#pragma omp parallel for reduction(max : error)
  for (std::size_t i = 0; i < own; ++i)
    error = std::max(error,
                     std::abs(u[i + 1] - exact(first + static_cast<long long>(i), *cells, *steps)));
  MPI_Allreduce(MPI_IN_PLACE, &error, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  if (*cells <= 20) print_rod(u, *cells, rank, ranks);
  if (rank == 0)
    std::printf(
        "%lld steps, ranks: %d, threads in each: %d, off the exact solution by %.0e at most\n",
        *steps, ranks, omp_get_max_threads(), error);
  MPI_Finalize();
  return error <= 1e-15 * static_cast<double>(*steps + 1) ? 0 : 1;  // each step may round
}
