// SPDX-License-Identifier: Apache-2.0
// False sharing: threads that write to one cache line, though not to the same bytes; and its fixes.
#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <vector>

#include "../whole_number.hpp"

namespace {

// A sum in memory at which only its own thread works. Without `volatile` a compiler may keep it in
// a register, and there would be nothing to see.
void add(volatile double& sum, double value) { sum = sum + value; }
void add(std::atomic<double>& sum, double value) {
  sum.fetch_add(value, std::memory_order_relaxed);
}

template <class Number>
struct Adjacent {
  Number sum = 0;
};
// 128 bytes: x86 fetches lines of 64 bytes in pairs, and some ARM lines are as long.
template <class Number>
struct alignas(128) Padded {
  Number sum = 0;
};

// Every thread adds its share of `values` to the sum that is its own, in memory, one by one.
template <class Sum>
double in_shared_sums(const std::vector<double>& values) {
  std::vector<Sum> sums(static_cast<std::size_t>(omp_get_max_threads()));
#pragma omp parallel
  {
    auto& mine = sums[static_cast<std::size_t>(omp_get_thread_num())].sum;
#pragma omp for
    for (std::size_t i = 0; i < values.size(); ++i) add(mine, values[i]);
  }
  double total = 0;
  for (const Sum& part : sums) total += part.sum;
  return total;
}

// Every thread adds in a variable of its own and touches what is shared once. This is what
// reduction(+ : total) makes of a loop.
double in_local_sums(const std::vector<double>& values) {
  double total = 0;
#pragma omp parallel
  {
    double mine = 0;
#pragma omp for
    for (std::size_t i = 0; i < values.size(); ++i) mine += values[i];
#pragma omp atomic
    total += mine;
  }
  return total;
}

template <class Run>
double best_milliseconds(Run&& run, double& total) {
  double best = 1e300;
  for (int repetition = 0; repetition < 3; ++repetition) {
    const auto start = std::chrono::steady_clock::now();
    total = run();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    best = std::min(best, took.count());
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  alarm(60);  // nothing here runs for longer
  const auto count = whole_number(argc > 1 ? argv[1] : "4000000", 1, 100'000'000);
  if (!count) {
    std::fprintf(stderr, "false_sharing: values are a whole number from 1 to 10^8, not '%s'\n",
                 argv[1]);
    return 2;
  }
  const std::vector<double> values(static_cast<std::size_t>(*count), 0.5);  // adds up exactly
  const struct {
    const char* name;
    double (*run)(const std::vector<double>&);
  } ways[] = {{"stores, sums side by side", in_shared_sums<Adjacent<volatile double>>},
              {"stores, on lines of their own", in_shared_sums<Padded<volatile double>>},
              {"atomics, sums side by side", in_shared_sums<Adjacent<std::atomic<double>>>},
              {"atomics, on lines of their own", in_shared_sums<Padded<std::atomic<double>>>},
              {"a local sum", in_local_sums}};
  std::printf("%lld values, threads: %d, best of 3\n", *count, omp_get_max_threads());
  bool right = true;
  for (const auto& [name, run] : ways) {
    double total = 0;
    const double milliseconds = best_milliseconds([&, run = run] { return run(values); }, total);
    const bool exact = total == 0.5 * static_cast<double>(*count);
    std::printf("  %-31s %8.3g ms  %s\n", name, milliseconds, exact ? "right" : "WRONG sum");
    right &= exact;
  }
  return right ? 0 : 1;
}
