#include "cli/common_options.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <halocline/error.hpp>

namespace halocline::cli {

void add_ranks(CLI::App& app, const std::string& group, std::optional<int>& ranks,
               std::optional<int> otherwise) {
  app.add_option("--ranks", ranks,
                 "start N ranks (one GPU each); leave out under mpirun or srun" +
                     (otherwise ? fmt::format(" ({})", *otherwise) : ""))
      ->type_name("N")
      ->group(group);
}

void add_proofs(CLI::App& app, const std::string& group, std::optional<std::string>& file) {
  app.add_option("--proofs", file, "remember here whether MPI takes a GPU's memory (user's cache)")
      ->type_name("FILE")
      ->group(group);
}

void add_wait_limit(CLI::App& app, const std::string& group, double& seconds) {
  app.add_option("--wait-limit", seconds,
                 "give up a wait for another rank after S seconds; 0: never (120)")
      ->type_name("S")
      ->group(group);
}

void add_json(CLI::App& app, const std::string& group, std::optional<std::string>& file) {
  app.add_option("--json", file, "write the report as JSON; - for standard output")
      ->type_name("FILE")
      ->group(group);
}

void add_quiet(CLI::App& app, const std::string& group, bool& quiet) {
  app.add_flag("--quiet", quiet, "print nothing but errors")->group(group);
}

void add_loop(CLI::App& app, const std::string& group, LoopWords& words, const char* seconds) {
  app.add_option("--repetitions", words.repetitions, "time N repetitions of each measurement")
      ->type_name("N")
      ->group(group);
  app.add_option("--seconds", words.seconds,
                 fmt::format("or as many as fit into S seconds ({})", seconds))
      ->type_name("S")
      ->group(group);
}

void read_loop(const LoopWords& words, bench::LoopOptions& loop) {
  if (words.repetitions && words.seconds)
    throw Error(ErrorKind::usage,
                fmt::format("{} repetitions and {} seconds of each case are two wishes; give "
                            "--repetitions or --seconds",
                            *words.repetitions, *words.seconds));
  if (words.repetitions && *words.repetitions < 1)
    throw Error(ErrorKind::usage,
                fmt::format("{} repetitions cannot be timed; use 1 or more", *words.repetitions));
  loop.repetitions = words.repetitions.value_or(loop.repetitions);
  loop.seconds = words.seconds.value_or(loop.seconds);
}

}  // namespace halocline::cli
