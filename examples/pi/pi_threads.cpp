// SPDX-License-Identifier: Apache-2.0
// Pi by threads: the midpoint rule for the integral of 4 / (1 + x^2) from 0 to 1.
#include <omp.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <numbers>

#include "../whole_number.hpp"

int main(int argc, char** argv) {
  alarm(60);  // nothing here runs for longer
  const auto given = whole_number(argc > 1 ? argv[1] : "1024000", 1, 10'000'000'000);
  if (!given) {
    std::fprintf(stderr, "pi_threads: cells are a whole number from 1 to 10^10, not '%s'\n",
                 argv[1]);
    return 2;
  }
  const long long cells = *given;  // 64 bits: `int` would end at 2^31
  const double width = 1.0 / static_cast<double>(cells);

  double sum = 0;
#pragma omp parallel for reduction(+ : sum)  // each thread adds into a sum of its own
  for (long long i = 0; i < cells; ++i) {
    const double x = (static_cast<double>(i) + 0.5) * width;  // the middle of cell i, from 0
    sum += 4 / (1 + x * x);
  }
  const double pi = sum * width;
  std::printf("pi = %.11f by %lld cells, threads: %d, off by %.0e\n", pi, cells,
              omp_get_max_threads(), std::abs(pi - std::numbers::pi));
}
