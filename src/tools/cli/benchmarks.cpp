// SPDX-License-Identifier: Apache-2.0
#include "cli/benchmarks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <halocline/error.hpp>

namespace halocline::cli {

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
    // Ranks of a launcher with other cases would wait for each other, or mix results.
    comm::require_same(world, "command lines", words_for_ranks(words));
    return command.job.work(world);
  };
  return run_on_ranks(job, command.ranks_option == BenchCommand::RanksOption::list
                               ? words
                               : words_for_ranks(words));
}

}  // namespace halocline::cli
