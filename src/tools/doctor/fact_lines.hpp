// SPDX-License-Identifier: Apache-2.0
#pragma once
// What ranks say of themselves, their nodes and what is between these, in lines of probe/lines.hpp.

#include <string>
#include <string_view>
#include <vector>

#include "doctor/facts.hpp"
#include "mpi/reported_capabilities.hpp"

namespace halocline::doctor {

/// Lines for a rank to print, without the end of the line.
std::string line_of(const RankSeen& rank);
std::string line_of(const mpi::ReportedCapabilities& reported);
std::string line_of(const Library& library);
std::string line_of(const NodeSeen& node);
std::string line_of(const Link& link);
/// Comes after the line of its node.
std::string speed_line(int node, const GpuSpeed& speed);
std::string machine_line(const machine::RankFacts& facts);
std::string gpus_line(const std::string& driver, const std::string& runtime,
                      const std::vector<bool>& peer_access);
std::string direct_reads_line(bool works, const std::string& because);
/// What comes next, so that it can be told where a probe ended.
std::string doing_line(const std::string& what);

/// What ranks are at before they can say who they are.
inline constexpr const char* starting_mpi = "starting MPI (MPI_Init)";

/// Reads what came of the question for facts, however the job ended.
ProbeFacts read_probe_facts(std::string_view output);

}  // namespace halocline::doctor
