#include "cli/bench_command.hpp"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "base/temporary_file.hpp"
#include "bench/halo_report.hpp"
#include "bench/step_report.hpp"
#include "cli/exit_code.hpp"
#include "cli/print.hpp"
#include "cli/ranks.hpp"
#include "comm/collectives.hpp"
#include "launch/launched.hpp"
#include "launch/launcher.hpp"
#include "proof/surroundings.hpp"
#include "report/render.hpp"

namespace halocline::cli {
namespace {

using Flag = BenchCommand::Flag;
using Words = std::vector<std::string>;

void write_results(const BenchCommand& command, const Report& report) {
  const bool json_to_stdout = command.json == "-";
  if (command.quiet == Flag::no && !json_to_stdout) print(render_text(report));
  if (json_to_stdout) print(render_json(report));
  if (command.json && !json_to_stdout) write_text_file(*command.json, render_json(report));
}

int bench_halo(const BenchCommand& command, const bench::HaloBenchOptions& options,
               const Communicator& world) {
  const bench::HaloBenchResult result = bench::run_halo_bench(world, options);
  comm::on_first_rank(world, [&] { write_results(command, bench::report_of(result)); });
  for (const bench::HaloTiming& timing : result.timings) {
    if (!timing.wrong) continue;
    if (world.rank() == 0)
      fmt::print(stderr, "halocline: wrong result: transport {}: {}\n",
                 bench::transport_text(timing), *timing.wrong);
    return exit_wrong_result;
  }
  return exit_ok;
}

int bench_step(const BenchCommand& command, const bench::StepBenchOptions& options,
               const Communicator& world) {
  const bench::StepBenchResult result = bench::run_step_bench(world, options);
  comm::on_first_rank(world, [&] { write_results(command, bench::report_of(result)); });
  for (const bench::StepTiming& timing : result.timings) {
    if (!timing.wrong) continue;
    fmt::print(stderr, "halocline: wrong result: {}: {}\n", bench::name_of(timing), *timing.wrong);
    return exit_wrong_result;
  }
  return exit_ok;
}

/// What both have in common.
RankJob job_of(const BenchCommand& command) {
  RankJob job;
  job.wait_limit_seconds = command.wait_limit_seconds;
  job.json = command.json;
  job.proofs.says =
      command.quiet == Flag::yes ? ProofWish::Says::nothing : ProofWish::Says::what_it_does;
  return job;
}

int run(const BenchCommand& command, const bench::HaloBenchOptions& options, const Words& words) {
  const Words transports = options.transports.empty() ? Words{"auto"} : options.transports;
  RankJob job = job_of(command);
  job.ranks = job.proofs.ranks = command.ranks;
  job.proofs.memories = memories_for_gpu_aware(transports, options.memories);
  job.proofs.file = options.proofs;
  job.threads_per_rank = 1;
  job.check = [&](int ranks) { bench::check(options, ranks); };
  job.work = [&](const Communicator& world) { return bench_halo(command, options, world); };
  return run_on_ranks(job, words_for_ranks(words));
}

/// The largest number of ranks that is asked for; one for each GPU, or core, if none is.
int most_ranks(const bench::StepBenchOptions& options) {
  if (!options.ranks.empty()) return *std::max_element(options.ranks.begin(), options.ranks.end());
  const int gpus = options.backend == "auto" || options.backend == "cuda"
                       ? proof::gpus_here(current_variables())
                       : 0;
  return gpus > 0 ? gpus : usable_cores();
}

int run(const BenchCommand& command, const bench::StepBenchOptions& options, const Words& words) {
  RankJob job = job_of(command);
  // A launcher may have started more ranks than the largest number asked for.
  if (!launched_by(current_variables())) job.ranks = most_ranks(options);
  check_rank_options(job.ranks, job.wait_limit_seconds);
  job.proofs.ranks = job.ranks;
  if (options.backend == "auto" || options.backend == "cuda")
    job.proofs.memories = memories_for_gpu_aware(options.transports, {"auto"});
  job.proofs.file = options.proofs;
  job.threads_per_rank = options.threads;
  job.check = [&](int ranks) { bench::check(options, ranks); };
  job.work = [&](const Communicator& world) { return bench_step(command, options, world); };
  return run_on_ranks(job, words);
}

}  // namespace

int run_bench(const BenchCommand& command, const Words& words) {
  return std::visit([&](const auto& options) { return run(command, options, words); },
                    command.options);
}

}  // namespace halocline::cli
