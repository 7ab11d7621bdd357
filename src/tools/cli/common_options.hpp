// SPDX-License-Identifier: Apache-2.0
#pragma once
// Options that several commands have, told in the same words.

#include <cstdint>
#include <optional>
#include <string>

#include "cli/options.hpp"
#include "timing/harness.hpp"

namespace halocline::cli {

/// Each adds an option to a group of the help; of ranks, `otherwise` are started without it, or
/// as many as its words say.
void add_ranks(const OptionGroup& group, std::optional<int>& ranks,
               std::optional<int> otherwise = {});
void add_ranks(const OptionGroup& group, std::optional<int>& ranks, const std::string& otherwise);
/// `otherwise` is what is said of the default.
void add_process_grid(const OptionGroup& group, std::optional<std::string>& words,
                      const char* otherwise);
void add_proofs(const OptionGroup& group, std::optional<std::string>& file);
void add_wait_limit(const OptionGroup& group, double& seconds);
void add_json(const OptionGroup& group, std::optional<std::string>& file);
void add_trace(const OptionGroup& group, std::optional<std::string>& file);
void add_quiet(const OptionGroup& group, bool& quiet);

/// How often to repeat a measurement, as the user wrote it.
struct LoopWords {
  std::optional<std::int64_t> repetitions;
  std::optional<double> seconds;
};
/// Adds --repetitions and --seconds; `seconds` is what is said of the latter's default.
void add_loop(const OptionGroup& group, LoopWords& words, const char* seconds);
/// Throws usage for both at once, and for repetitions that are none.
void read_loop(const LoopWords& words, timing::LoopOptions& loop);

}  // namespace halocline::cli
