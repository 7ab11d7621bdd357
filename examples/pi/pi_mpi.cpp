// SPDX-License-Identifier: Apache-2.0
// Pi by ranks: each adds up a share of the cells, and one reduction adds the sums.
#include <mpi.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <numbers>

#include "../whole_number.hpp"

int main(int argc, char** argv) {
  alarm(60);  // nothing here runs for longer
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const auto given = whole_number(argc > 1 ? argv[1] : "1024000", 1, 10'000'000'000);
  if (!given) {
    if (rank == 0)
      std::fprintf(stderr, "pi_mpi: cells are a whole number from 1 to 10^10, not '%s'\n", argv[1]);
    MPI_Finalize();
    return 2;
  }
  const long long cells = *given;
  const double width = 1.0 / static_cast<double>(cells);

  // Shares differ by one cell at most. With cells / ranks for everybody, the rest would be lost.
  const long long first = cells * rank / ranks, end = cells * (rank + 1) / ranks;
  double sum = 0;
  for (long long i = first; i < end; ++i) {
    const double x = (static_cast<double>(i) + 0.5) * width;  // the middle of cell i, from 0
    sum += 4 / (1 + x * x);
  }
  double total = 0;
  MPI_Reduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0)
    std::printf("pi = %.11f by %lld cells, ranks: %d, off by %.0e\n", total * width, cells, ranks,
                std::abs(total * width - std::numbers::pi));
  MPI_Finalize();
}
