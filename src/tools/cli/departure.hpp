// SPDX-License-Identifier: Apache-2.0
#pragma once
// How this process begins and ends, and how the command that started it as one of its ranks hears
// of it. A launcher's exit code does not tell: it may be the launcher's own, or that of a rank that
// a library ended.

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
/// Returns what begins the lines that tell of an end, on standard error. It is not in the command
/// line, which a launcher may print.
std::string mark_of(const Start& start);
/// Returns the word that goes before the other words of a rank's command line.
std::string word_of(const Start& start);
/// Takes that word out of a command line, if it is there.
void take_start(std::vector<std::string>& words);
/// Returns how this process was started, if by another command.
const std::optional<Start>& start_of_this_rank();

/// Tells the command that started this rank that its work begins.
void tell_begin();

/// From now on, a library that ends this process makes it end with exit_failure and a line that
/// says so: 1 means a wrong result and nothing else.
void guard_departure();
/// Names what is being done, for that line: a string literal, "MPI_Init".
void set_stage(const char* stage);
/// Prepares for an end that this program wants, and tells of it where somebody listens: of success
/// only the first rank tells, of failures every rank, since the first may not live to do so.
/// Returns `code`.
int leave(int code);
/// The same, and prints what went wrong, as complain() does.
int leave(int code, const std::string& text);

/// Says which rank this is. Until then it is taken for another than the first.
void set_rank(int rank);

/// What ranks have told of their ends.
struct Departures {
  std::optional<int> code;    ///< the highest; nothing if none told
  bool by_a_library = false;  ///< one was ended by a library
};
/// Reads the lines behind the mark.
Departures read_departures(const std::vector<std::string>& lines);

}  // namespace halocline::cli
