// SPDX-License-Identifier: Apache-2.0
#pragma once
// Exit codes from ranks to the command that started them. The launcher's exit code cannot be used:
// it may be the launcher's own, or that of a rank that a library ended.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace halocline::cli {

/// Between a command and the ranks that it starts: in their command line, since launchers pass on
/// no variables of ours to other nodes.
struct Start {
  int ranks = 0;             ///< that were asked for
  std::uint64_t number = 0;  ///< of this start alone
};

Start new_start(int ranks);
/// Returns the beginning of lines with reports on standard error. It is not in the command line,
/// which a launcher may print.
std::string mark_of(const Start& start);
/// Returns the word that goes before the other words of a rank's command line.
std::string word_of(const Start& start);
/// Takes that word out of a command line, if it is there.
void take_start(std::vector<std::string>& words);
/// Returns how this process was started, if by another command.
const std::optional<Start>& start_of_this_rank();

/// Reports to the command that started this rank that its work begins.
void report_begin();

/// From now on, a library that ends this process makes it end with exit_failure and a line that
/// says so: 1 means a wrong result and nothing else.
void guard_exit();
/// Names what is being done, for that line: a string literal, "MPI_Init".
void set_stage(const char* stage);
/// Reports the exit code to the command that started this rank, if there is one: on success rank 0
/// only, on failure every rank, since rank 0 may be dead. Returns `code`.
int report_exit(int code);
/// The same, and prints what went wrong, as print_error() does.
int report_exit(int code, const std::string& text);

/// Sets this process's rank. Until then it is not taken for rank 0.
void set_rank(int rank);

/// The ends that ranks have reported.
struct ExitReports {
  std::optional<int> code;    ///< the highest; nothing without a report
  bool by_a_library = false;  ///< one was ended by a library
};
/// Reads the lines behind the mark.
ExitReports read_exit_reports(const std::vector<std::string>& lines);

}  // namespace halocline::cli
