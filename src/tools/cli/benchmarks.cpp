// SPDX-License-Identifier: Apache-2.0
#include "cli/benchmarks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <halocline/error.hpp>

#include "cli/compared.hpp"

namespace halocline::cli {
namespace {

constexpr auto makers = {make_bench_halo,     make_bench_step,      make_bench_p2p,
                         make_bench_copy,     make_bench_first_use, make_bench_mesh,
                         make_bench_progress, make_bench_overhead,  make_bench_layout};

}  // namespace

Benchmarks::Benchmarks(Syntax& syntax)
    : bench_(syntax.subcommand("bench",
                               "time exchanges, messages, copies and sweeps, and check them")) {
  for (const auto make : makers) benchmarks_.push_back(make(bench_));
  bench_.footer("Details of each: halocline bench NAME --help");
}

bool Benchmarks::parsed() const { return bench_.parsed(); }

const Benchmark* Benchmarks::chosen() const {
  for (const auto& benchmark : benchmarks_)
    if (benchmark->parsed()) return benchmark.get();
  return nullptr;
}

std::string Benchmarks::name() const {
  const Benchmark* benchmark = chosen();
  return benchmark == nullptr ? "bench " : fmt::format("bench {} ", benchmark->name());
}

BenchCommand Benchmarks::finish() const {
  if (const Benchmark* benchmark = chosen()) {
    BenchCommand command = benchmark->finish();
    check_rank_options(command.job.ranks, command.job.wait_limit_seconds);
    return command;
  }
  std::vector<std::string> names;
  for (const auto& benchmark : benchmarks_) names.push_back(benchmark->name());
  throw Error(ErrorKind::usage,
              fmt::format("bench needs the name of a benchmark: {}; see halocline bench "
                          "--help",
                          fmt::join(names, ", ")));
}

int run_bench(const BenchCommand& command, const std::vector<std::string>& words) {
  if (command.common.ab) return run_compared(command.common, words);
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
