// SPDX-License-Identifier: Apache-2.0
#pragma once
// The report of a program with sweeps of its own, as `halocline solve` writes it.

#include <cstdint>
#include <optional>
#include <string>

#include <halocline/communicator.hpp>
#include <halocline/exchange.hpp>
#include <halocline/field.hpp>
#include <halocline/grid.hpp>
#include <halocline/norm.hpp>

namespace halocline {

/// What only the program knows.
struct ProgramFacts {
  std::string problem = "program";      ///< its name, the report's title
  std::string backend = "program";      ///< what sweeps, in a word: "openacc"
  std::string schedule = "sequential";  ///< or "overlap", or a word of your own
  int threads = 1;                      ///< of each rank
  std::int64_t sweeps = 0;
  Norm norm = Norm::none;
  double norm_value = 0;  ///< of the last sweep
  std::optional<double> tolerance = {};
  double setup_seconds = 0, first_sweep_seconds = 0;
  /// Of the sweeps after the first; of all if first_sweep_seconds is 0.
  double loop_seconds = 0;
};

/// Where a report goes: a path, or "-" for standard output.
struct ReportFiles {
  std::optional<std::string> text, json;
};

/// Writes, on rank 0, what a program has done and what its result is: checksum and sum of `result`
/// (a field that measure.hpp measures), rate and times of the slowest rank, ranks, transports, halo
/// per exchange. Keys and words are those of `halocline solve`. Collective. Throws usage, on every
/// rank, for invalid facts or an invalid path, resource where writing fails.
void write_report(const Communicator& communicator, const Grid& grid, const FieldStorage& result,
                  const ExchangeInfo& exchange, const ProgramFacts& facts,
                  const ReportFiles& files);

}  // namespace halocline
