// SPDX-License-Identifier: Apache-2.0
#pragma once
// Options that several commands share.

#include <cstdint>
#include <optional>
#include <string>

#include "cli/options.hpp"
#include "timing/harness.hpp"

namespace halocline::cli {

/// Each adds an option to a group. `otherwise` is the default number of ranks, or its description.
void add_ranks(const OptionGroup& group, std::optional<int>& ranks,
               std::optional<int> otherwise = {});
void add_ranks(const OptionGroup& group, std::optional<int>& ranks, const std::string& otherwise);
/// `otherwise` describes the default.
void add_process_grid(const OptionGroup& group, std::optional<std::string>& words,
                      const char* otherwise);
void add_proofs(const OptionGroup& group, std::optional<std::string>& file);
void add_wait_limit(const OptionGroup& group, double& seconds);
void add_json(const OptionGroup& group, std::optional<std::string>& file);
void add_trace(const OptionGroup& group, std::optional<std::string>& file);
void add_quiet(const OptionGroup& group, bool& quiet);

/// Options for repetitions, before they are checked.
struct LoopWords {
  std::optional<std::int64_t> repetitions;
  std::optional<double> seconds;
};
/// Adds --repetitions and --seconds; `seconds` describes the default of the latter.
void add_loop(const OptionGroup& group, LoopWords& words, const char* seconds);
/// Throws usage if both are given, or if repetitions are below 1.
void read_loop(const LoopWords& words, timing::LoopOptions& loop);

}  // namespace halocline::cli
