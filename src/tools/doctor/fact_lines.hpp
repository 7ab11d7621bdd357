// SPDX-License-Identifier: Apache-2.0
#pragma once
// Facts about ranks, nodes and links as lines of probe/lines.hpp: written by ranks, read by doctor.

#include <string>
#include <string_view>
#include <vector>

#include "doctor/facts.hpp"
#include "mpi/reported_capabilities.hpp"

namespace halocline::doctor {

/// Each returns a line for a rank to print, without the end of the line.
std::string line_of(const RankSeen& rank);
std::string line_of(const mpi::ReportedCapabilities& reported);
std::string line_of(const Library& library);
std::string line_of(const NodeSeen& node);
std::string line_of(const Link& link);
/// To be printed after the line of its node.
std::string speed_line(int node, const GpuSpeed& speed);
std::string machine_line(const machine::RankFacts& facts);
std::string gpus_line(const std::string& driver, const std::string& runtime,
                      const std::vector<bool>& peer_access);
/// Empty `failure`: direct reads work.
std::string direct_reads_line(const std::string& failure);
/// Announces the next step, which shows where a probe ended.
std::string doing_line(const std::string& what);

/// The step before ranks can print any fact.
inline constexpr const char* starting_mpi = "starting MPI (MPI_Init)";

/// Reads the facts that ranks printed, however the job ended.
ProbeFacts read_probe_facts(std::string_view output);

}  // namespace halocline::doctor
