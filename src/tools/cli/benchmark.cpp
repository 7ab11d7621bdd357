// SPDX-License-Identifier: Apache-2.0
#include "cli/benchmark.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <halocline/error.hpp>

#include "base/files/temporary_file.hpp"
#include "base/process/launched.hpp"
#include "cli/common_options.hpp"
#include "cli/exit_code.hpp"
#include "cli/print.hpp"
#include "files/attempts.hpp"

namespace halocline::cli {

std::string words_for(const Syntax& benchmarks) {
  const std::string& command = benchmarks.command();
  return command == "bench" ? "halocline bench" : command;
}

Benchmark::Benchmark(Syntax& bench, const char* name, const char* summary,
                     const std::string& footer)
    : syntax_(bench.subcommand(name, summary)) {
  syntax_.footer(footer);
}

std::string Benchmark::name() const { return syntax_.command(); }

bool Benchmark::parsed() const { return syntax_.parsed(); }

void Benchmark::add_ranks(const OptionGroup& group, std::optional<int> otherwise) {
  cli::add_ranks(group, common_.ranks, otherwise);
  ranks_otherwise_ = otherwise;
}

void Benchmark::add_ranks(const OptionGroup& group, const std::string& otherwise) {
  cli::add_ranks(group, common_.ranks, otherwise);
}

void Benchmark::add_wait_limit(const OptionGroup& group) {
  cli::add_wait_limit(group, common_.wait_limit_seconds);
}

void Benchmark::add_results(const OptionGroup& group) {
  add_json(group, common_.json);
  add_quiet(group, common_.quiet);
}

void Benchmark::add_trace(const OptionGroup& group) { cli::add_trace(group, common_.trace); }

RankJob Benchmark::job() const {
  RankJob job;
  job.ranks = common_.ranks;
  if (!job.ranks && !launched_by(current_variables())) job.ranks = ranks_otherwise_;
  job.threads_per_rank = 1;
  job.wait_limit_seconds = common_.wait_limit_seconds;
  add_report(job.files, common_.json);
  job.files.add_result("--trace", common_.trace);
  job.proofs.notes = common_.quiet ? ProofRequest::Notes::none : ProofRequest::Notes::printed;
  return job;
}

void want_proofs(RankJob& job, const std::vector<std::string>& transports,
                 const std::vector<std::string>& memories, const std::optional<std::string>& file) {
  job.proofs.ranks = job.ranks;
  job.proofs.paths =
      paths_to_prove(transports.empty() ? std::vector<std::string>{"auto"} : transports, memories);
  job.proofs.file = file;
  job.files.add_used("--proofs", file);
}

void write_results(const CommonOptions& options, const Report& report,
                   const std::optional<std::string>& trace) {
  Attempts attempts;
  attempts.attempt(
      [&] { write_report(report, options.json, options.quiet ? Text::quiet : Text::shown); });
  if (options.trace && trace)
    attempts.attempt(
        [&] { write_text_file(*options.trace, *trace, Otherwise::use_working_folder); });
  attempts.finish();
}

int report_wrong(const Communicator& world, const std::optional<std::string>& wrong) {
  const std::string first = comm::first_text(world, wrong.value_or(""));
  if (first.empty()) return exit_ok;
  if (world.rank() == 0) print_error("wrong result: " + first);
  return exit_wrong_result;
}

Benchmarks::Benchmarks(Syntax& syntax, const std::vector<Make>& makers) : syntax_(syntax) {
  for (const Make make : makers) benchmarks_.push_back(make(syntax));
}

BenchCommand Benchmarks::finish() const {
  std::vector<std::string> names;
  for (const auto& benchmark : benchmarks_) {
    names.push_back(benchmark->name());
    if (!benchmark->parsed()) continue;
    BenchCommand command = benchmark->finish();
    check_rank_options(command.job.ranks, command.job.wait_limit_seconds);
    return command;
  }
  throw Error(ErrorKind::usage,
              fmt::format("{} needs the name of a benchmark: {}; see {} --help", syntax_.command(),
                          fmt::join(names, ", "), words_for(syntax_)));
}

Benchmarks add_bench(Syntax& syntax) {
  Syntax& bench = syntax.subcommand("bench", "time exchanges, messages and sweeps, and check them");
  bench.footer("Details of each: halocline bench NAME --help");
  return {bench, {make_bench_halo, make_bench_step, make_bench_p2p, make_bench_layout}};
}

int run_bench(const BenchCommand& command, const std::vector<std::string>& words) {
  RankJob job = command.job;
  job.work = [&](const Communicator& world) {
    // A launcher may start ranks with different cases, which would wait for each other or mix
    // results.
    comm::require_same(world, "command lines", words_for_ranks(words));
    return command.job.work(world);
  };
  return run_on_ranks(job, command.ranks_option == BenchCommand::RanksOption::list
                               ? words
                               : words_for_ranks(words));
}

}  // namespace halocline::cli
