// SPDX-License-Identifier: Apache-2.0
#pragma once
// Exit codes that ranks report to the command that started them. The launcher's exit code is not
// reliable: it may be its own, or that of a rank ended by a library.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace halocline::cli {

/// Identifies the ranks of one start. Passed in their command line, since launchers do not forward
/// our variables to other nodes.
struct Start {
  int ranks = 0;             ///< requested
  std::uint64_t number = 0;  ///< unique to this start
};

Start new_start(int ranks);
/// Returns the beginning of reports on standard error. It does not appear in the command line,
/// which a launcher may print.
std::string mark_of(const Start& start);
/// Returns the first word of a rank's command line.
std::string word_of(const Start& start);
/// Removes and stores that word of a command line, if it is there.
void take_start(std::vector<std::string>& words);
/// Returns the start of this process, if another command started it.
const std::optional<Start>& start_of_this_rank();

/// Reports to the command that started this rank that work begins.
void report_begin();

/// From now on, if a library ends this process, it prints a message and the exit code is
/// exit_failure. A library's code 1 would mean a wrong result.
void guard_exit();
/// Sets the present activity for that message: a string literal, "MPI_Init".
void set_stage(const char* stage);
/// Reports the exit code to the command that started this rank, if there is one: on success rank 0
/// only, on failure every rank, since rank 0 may be dead. Returns `code`.
int report_exit(int code);
/// The same, and prints an error as print_error() does.
int report_exit(int code, const std::string& text);

/// Sets this process's rank. Before, it does not count as rank 0.
void set_rank(int rank);

/// The exit codes reported by ranks.
struct ExitReports {
  std::optional<int> code;    ///< the highest; nothing without reports
  bool by_a_library = false;  ///< a library ended a rank
};
/// Reads the text after the mark of each line.
ExitReports read_exit_reports(const std::vector<std::string>& lines);

}  // namespace halocline::cli
