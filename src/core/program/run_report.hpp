// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the reports of all runs have in common, those of `halocline solve` and of programs with
// sweeps of their own: the same keys and words.

#include <cstdint>
#include <utility>
#include <vector>

#include <halocline/run_result.hpp>

#include "report/report.hpp"

namespace halocline::program {

/// The report of a run, with nothing in it but its title.
Report titled(const RunResult& result);

/// Adds sweeps, norms, sum and checksum.
void add_result(Report& report, const RunResult& result);
/// Adds the rate and the seconds of set-up and sweeps.
void add_rate(Report& report, const RunResult& result);
/// Adds ranks, backend, GPUs, MPI and transports.
void add_machine(Report& report, const RunResult& result);

/// Which rank has which GPU or processor, for JSON.
Table devices_table(const std::vector<RunDevice>& devices);

/// The history of norms that a report keeps: a norm per sweep of a long run is more than anybody
/// plots. At most 10000, the last one among them.
std::vector<std::pair<std::int64_t, double>> thinned_norms(const RunResult& result);

/// Cells along the axes there are.
std::vector<std::int64_t> list_of(const Extents& extents);

}  // namespace halocline::program
