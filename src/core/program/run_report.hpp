// SPDX-License-Identifier: Apache-2.0
#pragma once
// The common parts of the reports of `halocline solve` and of programs with their own sweeps: the
// same keys and words.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <halocline/communicator.hpp>
#include <halocline/program_report.hpp>
#include <halocline/run_result.hpp>

#include "report/report.hpp"

namespace halocline::program {

/// Returns the report of a run with only its title; JSON names its kind.
Report titled(const std::string& kind, const RunResult& result);

/// Adds sweeps and norms. `norm_of`: what follows the word norm, such as " of u".
void add_result(Report& report, const RunResult& result, const std::string& norm_of = {});
/// Adds sum and checksum, with words for the sum in the text.
void add_sum(Report& report, const RunResult& result, const std::string& words);
/// Returns a sum in words: "not finite" of a run that has diverged.
std::string sum_text(double sum);
/// Adds the rate and the times of set-up and sweeps. Returns the section of the times.
Section& add_rate(Report& report, const RunResult& result);
/// Adds ranks, backend, GPUs, MPI and transports.
void add_machine(Report& report, const RunResult& result);

/// Writes rank 0's report to files or standard output. Collective; throws on every rank.
void write_report(const Communicator& communicator, const Report& report, const ReportFiles& files);

/// Returns the GPU or processor of each rank, for JSON.
Table devices_table(const std::vector<RunDevice>& devices);

/// Returns the history of norms for a report: at most 10000 of a long run's norms, including the
/// last one.
std::vector<std::pair<std::int64_t, double>> thinned_norms(const RunResult& result);

/// Returns the cells along each axis of the grid.
std::vector<std::int64_t> list_of(const Extents& extents);

}  // namespace halocline::program
