// SPDX-License-Identifier: Apache-2.0
#include "cli/common_options.hpp"

#include <fmt/format.h>

#include <halocline/error.hpp>

namespace halocline::cli {

void add_ranks(const OptionGroup& group, std::optional<int>& ranks, std::optional<int> otherwise) {
  add_ranks(group, ranks, fmt::to_string(otherwise.value_or(1)));
}

void add_ranks(const OptionGroup& group, std::optional<int>& ranks, const std::string& otherwise) {
  group.option("--ranks", "N", ranks,
               fmt::format("start N ranks (one GPU each); omit under mpirun or srun\n"
                           "[default: {}]",
                           otherwise));
}

void add_process_grid(const OptionGroup& group, std::optional<std::string>& words,
                      const char* otherwise) {
  group.option("--process-grid", "PXxPY[xPZ]", words,
               fmt::format("ranks along each axis, x first\n[default: {}]", otherwise));
}

void add_proofs(const OptionGroup& group, std::optional<std::string>& file) {
  group.option("--proofs", "FILE", file,
               "file with the results of probe jobs\n[default: in the user's cache]");
}

void add_wait_limit(const OptionGroup& group, double& seconds) {
  group.option("--wait-limit", "S", seconds,
               "stop waiting for another rank after S seconds; 0: never\n[default: 120]");
}

void add_json(const OptionGroup& group, std::optional<std::string>& file) {
  group.option("--json", "FILE", file, "write the report as JSON; - for standard output").dash =
      Option::Dash::standard_output;
}

void add_trace(const OptionGroup& group, std::optional<std::string>& file) {
  group.option("--trace", "FILE", file, "write a timeline for chrome://tracing or Perfetto");
}

void add_quiet(const OptionGroup& group, bool& quiet) {
  group.flag("--quiet", quiet, "print only errors");
}

void add_loop(const OptionGroup& group, LoopWords& words, const char* seconds) {
  group.option("--repetitions", "N", words.repetitions, "time N repetitions of each measurement");
  group.option("--seconds", "S", words.seconds,
               fmt::format("or as many as fit into S seconds [default: {}]", seconds));
}

void read_loop(const LoopWords& words, timing::LoopOptions& loop) {
  if (words.repetitions && words.seconds)
    throw Error(ErrorKind::usage, "give either --repetitions or --seconds, not both");
  if (words.repetitions && *words.repetitions < 1)
    throw Error(ErrorKind::usage,
                fmt::format("{} repetitions cannot be timed; use 1 or more", *words.repetitions));
  loop.repetitions = words.repetitions.value_or(loop.repetitions);
  loop.seconds = words.seconds.value_or(loop.seconds);
}

}  // namespace halocline::cli
