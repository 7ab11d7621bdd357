#pragma once
// The command line, read.

#include <optional>
#include <string>
#include <vector>

#include <halocline/solver.hpp>

namespace halocline::cli {

struct SolveCommand {
  SolveOptions options;
  std::optional<int> ranks;  ///< to start
  double wait_limit_seconds = 120;
  std::optional<std::string> json;
  enum class Flag { no, yes };
  Flag profile = Flag::no, quiet = Flag::no;
};

/// What to do: solve, or print a text and end.
struct CommandLine {
  std::optional<SolveCommand> solve;
  std::string text;  ///< help or version
};

/// Throws usage.
CommandLine read_command_line(const std::vector<std::string>& words);

}  // namespace halocline::cli
