// SPDX-License-Identifier: Apache-2.0
#pragma once
// Times of exchanges, over ranks.

#include <mpi.h>

#include <algorithm>
#include <functional>
#include <vector>

namespace halocline::bench {

/// The best and the median of some measurements.
struct Times {
  double best, median;
};

inline Times summary(std::vector<double> us) {
  std::sort(us.begin(), us.end());
  return {us.front(), us[us.size() / 2]};
}

/// Microseconds of one call, averaged over `calls`; the slower rank's. `finish` waits for what the
/// calls have only queued.
inline double time_of(
    int calls, const std::function<void()>& call, const std::function<void()>& finish = [] {}) {
  finish();
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (int i = 0; i < calls; ++i) call();
  finish();
  double us = (MPI_Wtime() - start) * 1e6 / calls;
  MPI_Allreduce(MPI_IN_PLACE, &us, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return us;
}

/// Two calls in turn, `repetitions` times; the median of the second's time over the first's.
struct Compared {
  Times first, second;
  double ratio;
};

inline Compared compared(int repetitions, int calls, const std::function<void()>& first,
                         const std::function<void()>& second, const std::function<void()>& finish) {
  std::vector<double> first_us, second_us, ratios;
  for (int r = 0; r < repetitions; ++r) {
    first_us.push_back(time_of(calls, first, finish));
    second_us.push_back(time_of(calls, second, finish));
    ratios.push_back(second_us.back() / first_us.back());
  }
  return {summary(first_us), summary(second_us), summary(ratios).median};
}

}  // namespace halocline::bench
