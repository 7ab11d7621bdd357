// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the ranks of a probe say, line by line: the lines that came are all that is left of one that
// crashed.

#include <string>
#include <string_view>
#include <vector>

#include "doctor/facts.hpp"
#include "doctor/paths.hpp"
#include "mpi/claims.hpp"

namespace halocline::doctor {

/// What such a line begins with.
inline constexpr std::string_view said_mark = "halocline-doctor: ";

/// Lines for a rank to print, without the end of the line.
std::string line_of(const RankSeen& rank);
std::string line_of(const mpi::Claims& claims);
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
std::string ends_line();

/// What ranks are at before they can say who they are.
inline constexpr const char* starting_mpi = "starting MPI (MPI_Init)";

/// Begins a size of a path; the last one when the probe crashed or hung.
std::string trying_line(const Path& path, std::int64_t bytes);
/// Every byte of this size arrived; `us` is 0 if it was not timed.
std::string arrived_line(const Path& path, Time time);
/// And in the order of a GPU's stream.
std::string in_order_line(const Path& path, std::int64_t bytes);
std::string outcome_line(const Path& path, Outcome outcome, const std::string& how);

/// Reads what came of the question for facts. Lines of others, and what launchers put in front of
/// lines, are passed over; so is a last line that is not whole.
RankFacts read_rank_facts(std::string_view output);

/// What came of some paths; one that was begun and has no outcome ended with the job.
struct PathsSaid {
  struct Row {
    PathResult result;
    bool is_decided = false;
  };
  std::vector<Row> rows;
  bool ended = false;
};
PathsSaid read_paths(std::string_view output);

}  // namespace halocline::doctor
