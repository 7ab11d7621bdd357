// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reports of programs with their own sweeps, in the form of `halocline solve`.

#include <cstdint>
#include <optional>
#include <string>

#include <halocline/communicator.hpp>
#include <halocline/exchange.hpp>
#include <halocline/field.hpp>
#include <halocline/grid.hpp>
#include <halocline/norm.hpp>

namespace halocline {

/// The facts of a report that only the program knows.
struct ProgramFacts {
  std::string problem = "program";      ///< its name, the report's title
  std::string backend = "program";      ///< the implementation of the sweeps: "openacc"
  std::string schedule = "sequential";  ///< or "overlap", or your own word
  int threads = 1;                      ///< of each rank
  std::int64_t sweeps = 0;
  Norm norm = Norm::none;
  double norm_value = 0;  ///< of the last sweep
  std::optional<double> tolerance = {};
  double setup_seconds = 0, first_sweep_seconds = 0;
  /// Of the sweeps after the first; of all sweeps if first_sweep_seconds is 0.
  double loop_seconds = 0;
};

/// The files of a report: a path each, or "-" for standard output.
struct ReportFiles {
  std::optional<std::string> text, json;
};

/// Writes, on rank 0, the report of a run: checksum and sum of `result` (a field that measure.hpp
/// accepts), rate and times of the slowest rank, ranks, transports, halo per exchange. Keys and
/// words are those of `halocline solve`. Collective. All work on `result` must be done. Throws, on
/// every rank, usage for invalid facts or an invalid path, resource if writing fails.
void write_report(const Communicator& communicator, const Grid& grid, const FieldStorage& result,
                  const ExchangeInfo& exchange, const ProgramFacts& facts,
                  const ReportFiles& files);

}  // namespace halocline
