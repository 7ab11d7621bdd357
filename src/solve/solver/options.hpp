// SPDX-License-Identifier: Apache-2.0
#pragma once
// The table of options of a solve. The command line, its help, the options of C and Fortran, the
// agreement of ranks and restarts are made from it: a new option is a member of SolveOptions, a row
// here, and the code that it is for.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <halocline/solver.hpp>

#include "base/text/json_text.hpp"

namespace halocline::solver {

/// An option as text and as JSON.
struct OptionValue {
  /// Sets it from a word, or adds one where it may be repeated. Throws usage with a text that
  /// begins with `what`, "option 'sweeps'" or "--sweeps", and the word.
  void (*read)(SolveOptions&, const std::string& word, const std::string& what);
  /// Returns the value: null, or an empty list, if there is none.
  Json (*json)(const SolveOptions&);
  /// Sets it from what json() returned. Throws what the JSON library throws. Null for options that
  /// no checkpoint has.
  void (*take)(SolveOptions&, const Json&) = nullptr;
};

struct Option {
  std::string_view name;  ///< in programs and errors: "norm_every"
  std::string_view flag;  ///< of the command: "--norm-every"
  std::string_view word;  ///< the value in help: "K"; empty: a switch, which takes "yes"
  enum class Group { what, how, checkpoints, results } group;
  std::string help;
  OptionValue value;
  enum class Ranks {
    alike,        ///< all ranks have the same value
    alike_given,  ///< given on all ranks or on none; only one of them uses the value
    differ
  } ranks = Ranks::alike;
  enum class Restart {
    free,     ///< as given to the run that continues
    same,     ///< as in the checkpoint; another one is an error
    inherit,  ///< as in the checkpoint, unless it is given
    refuse    ///< has no meaning for a run that continues
  } restart = Restart::free;
  enum class Times { once, any } times = Times::once;

  bool is_switch() const { return word.empty(); }
  bool is_given(const SolveOptions& options) const;
};

/// Returns the rows, those of a group in the order of help.
std::span<const Option> options();

/// Lists the options that all ranks must set alike, a line each.
std::vector<std::string> shared_options(const SolveOptions& options);

}  // namespace halocline::solver
