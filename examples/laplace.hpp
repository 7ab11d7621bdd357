// SPDX-License-Identifier: Apache-2.0
#pragma once
// Laplace's equation on a square grid as `halocline solve laplace` solves it in fp32: where it
// starts, a serial loop to compare with, and the report. For the programs in nccl/ and nvshmem/.

#include <mpi.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "whole_number.hpp"

namespace laplace {

struct Case {
  int cells = 1024;  // along each axis, without the frame, which is zero
  int sweeps = 200;
  /// Values from one row to the next.
  std::size_t row() const { return static_cast<std::size_t>(cells) + 2; }
  /// Values of a level of so many rows, with the row before and the row behind.
  std::size_t values(int rows) const { return row() * (static_cast<std::size_t>(rows) + 2); }
  /// Where a level has this cell; row and column 0 are before the first cell.
  std::size_t at(int y, int x) const {
    return static_cast<std::size_t>(y) * row() + static_cast<std::size_t>(x);
  }
  /// The number of a cell, of all rows, both from 0.
  std::uint64_t number(int y, int x) const {
    return static_cast<std::uint64_t>(y) * static_cast<std::uint64_t>(cells) +
           static_cast<std::uint64_t>(x);
  }
};

/// Reads CELLS and SWEEPS; ends the job with exit code 2 if they are something else, or if the
/// serial loop would take too long.
inline Case read_case(int count, char** words) {
  int ranks, rank;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const auto cells = whole_number(count > 1 ? words[1] : "1024", ranks, 30'000);
  const auto sweeps = whole_number(count > 2 ? words[2] : "200", 1, 10'000);
  if (count <= 3 && cells && sweeps && *cells * *cells * *sweeps <= 10'000'000'000)
    return {static_cast<int>(*cells), static_cast<int>(*sweeps)};
  if (rank == 0)
    std::fprintf(stderr,
                 "usage: %s [CELLS [SWEEPS]], at least a row of cells for each rank and at most "
                 "10^10 updates in all\n",
                 words[0]);
  MPI_Finalize();
  std::exit(2);
}

/// The rows of a rank, counted without the frame.
struct Rows {
  int first, count;
};
inline Rows rows_of(const Case& given, int rank, int ranks) {
  const int few = given.cells / ranks, more = given.cells % ranks;
  return {rank * few + std::min(rank, more), few + (rank < more ? 1 : 0)};
}

/// The last steps of splitmix64.
inline std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

/// The noise of `solve`, seed 12345, in the cell of this number.
inline float start_of(std::uint64_t cell) {
  return static_cast<float>(
      static_cast<double>(mix(12345 + (cell + 1) * 0x9E3779B97F4A7C15u) >> 11) * 0x1p-53);
}

/// A level of these rows, with the row before and the row behind, and the frame.
inline std::vector<float> start_level(const Case& given, Rows rows) {
  std::vector<float> level(given.values(rows.count));
  for (int y = 0; y < rows.count + 2; ++y) {
    const int row = rows.first + y - 1;
    if (row < 0 || row >= given.cells) continue;
    for (int x = 0; x < given.cells; ++x)
      level[given.at(y, x + 1)] = start_of(given.number(row, x));
  }
  return level;
}

/// What a run ends with: the level of this rank's rows, with the frame, and the largest change of
/// each sweep.
struct Result {
  std::string name;
  double seconds = 0;
  std::vector<float> level, norms;
};

/// The loop that the others must agree with, bit for bit, over all rows.
inline Result serial(const Case& given) {
  std::vector<float> from = start_level(given, {0, given.cells}), to(from.size()), norms;
  const std::size_t row = given.row();
  const double begun = MPI_Wtime();
  for (int sweep = 0; sweep < given.sweeps; ++sweep) {
    float norm = 0;
    for (int y = 1; y <= given.cells; ++y)
      for (std::size_t i = given.at(y, 1); i <= given.at(y, given.cells); ++i) {
        to[i] = 0.25f * ((from[i - 1] + from[i + 1]) + (from[i - row] + from[i + row]));
        norm = std::max(norm, std::abs(to[i] - from[i]));
      }
    norms.push_back(norm);
    std::swap(from, to);
  }
  return {"serial loop", MPI_Wtime() - begun, std::move(from), std::move(norms)};
}

/// The checksum of `solve`, of a level of all rows.
inline std::uint64_t checksum(const Case& given, const std::vector<float>& level) {
  std::uint64_t sum = 0;
  for (int y = 0; y < given.cells; ++y)
    for (int x = 0; x < given.cells; ++x)
      sum += mix(std::bit_cast<std::uint32_t>(level[given.at(y + 1, x + 1)]) ^
                 mix(given.number(y, x) + 1));
  return sum;
}

/// How many of this rank's values and norms are not those of the serial loop.
inline long long wrong_values(const Case& given, Rows rows, const Result& result,
                              const Result& right) {
  long long wrong = result.norms.size() == right.norms.size() ? 0 : 1;
  for (std::size_t i = 0; wrong == 0 && i < right.norms.size(); ++i)
    wrong += result.norms[i] != right.norms[i];
  for (int y = 1; y <= rows.count; ++y)
    for (int x = 1; x <= given.cells; ++x)
      wrong += result.level[given.at(y, x)] != right.level[given.at(rows.first + y, x)];
  return wrong;
}

/// Prints the results, each with the wrong values of all ranks, and the serial loop. Returns the
/// exit code: 1 if a value is wrong. Collective.
inline int report(const Case& given, const Result& right,
                  const std::vector<std::pair<Result, long long>>& results) {
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (rank == 0) {
    std::printf("laplace, %dx%d cells, f32, %d sweeps with their norms, ranks: %d\n", given.cells,
                given.cells, given.sweeps, ranks);
    std::printf("checksum %016llx, last norm %.9g\n\n",
                static_cast<unsigned long long>(checksum(given, right.level)),
                static_cast<double>(right.norms.back()));
    std::printf("%-24s %12s %13s\n", "", "us per sweep", "wrong values");
  }
  bool is_wrong = false;
  for (const auto& [result, wrong_here] : results) {
    double seconds = 0;
    long long wrong = 0;
    MPI_Allreduce(&result.seconds, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&wrong_here, &wrong, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
      std::printf("%-24s %12.2f %13lld\n", result.name.c_str(), 1e6 * seconds / given.sweeps,
                  wrong);
    is_wrong |= wrong > 0;
  }
  if (rank == 0)
    std::printf("%-24s %12.2f\n", right.name.c_str(), 1e6 * right.seconds / given.sweeps);
  return is_wrong ? 1 : 0;
}

}  // namespace laplace
