// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs of the command in this process, on ranks that are there: by its words, as a user writes
// them.

#include <string>
#include <vector>

#include <halocline/communicator.hpp>

#include "base/text/json_text.hpp"

namespace halocline::test {

/// What comes of a run.
struct Outcome {
  int code = 0;           ///< the command's exit code
  std::string said = {};  ///< the error, or what is wrong with the result
  Json report = {};       ///< as --json writes it; null after an error
};

/// Does what `solve` or `plan` is asked for in words with blanks between them, with the ranks of
/// `communicator`. Collective.
Outcome outcome_of(const std::string& words, const Communicator& communicator);

/// What the command refuses before it starts ranks. Not collective.
Outcome outcome_before_ranks(const std::string& words);

/// The number behind --ranks, or 1.
int ranks_of(const std::string& words);

/// Where `now` differs from each member of `known`: nowhere if bits are the same, of sums and L2
/// norms if they are within rounding. A report may have more members.
std::vector<std::string> differences(const Json& known, const Json& now);

/// The path of every key, `devices[].name`.
std::vector<std::string> keys_in(const Json& report);

}  // namespace halocline::test
