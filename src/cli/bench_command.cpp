#include "cli/bench_command.hpp"

#include <cstdio>

#include <fmt/format.h>

#include "base/temporary_file.hpp"
#include "bench/halo_report.hpp"
#include "cli/exit_code.hpp"
#include "cli/print.hpp"
#include "cli/ranks.hpp"
#include "comm/collectives.hpp"
#include "report/render.hpp"

namespace halocline::cli {
namespace {

using Flag = BenchCommand::Flag;

void write_results(const BenchCommand& command, const bench::HaloBenchResult& result) {
  const Report report = bench::report_of(result);
  const bool json_to_stdout = command.json == "-";
  if (command.quiet == Flag::no && !json_to_stdout) print(render_text(report));
  if (json_to_stdout) print(render_json(report));
  if (command.json && !json_to_stdout) write_text_file(*command.json, render_json(report));
}

int bench_together(const BenchCommand& command, const Communicator& world) {
  const bench::HaloBenchResult result = bench::run_halo_bench(world, command.options);
  comm::on_first_rank(world, [&] { write_results(command, result); });
  for (const bench::HaloTiming& timing : result.timings) {
    if (!timing.wrong) continue;
    if (world.rank() == 0)
      fmt::print(stderr, "halocline: wrong result: transport {}: {}\n",
                 bench::transport_text(timing), *timing.wrong);
    return exit_wrong_result;
  }
  return exit_ok;
}

}  // namespace

int run_bench(const BenchCommand& command, const std::vector<std::string>& words) {
  const bench::HaloBenchOptions& options = command.options;
  const std::vector<std::string> transports =
      options.transports.empty() ? std::vector<std::string>{"auto"} : options.transports;
  return run_on_ranks(
      {.ranks = command.ranks,
       .wait_limit_seconds = command.wait_limit_seconds,
       .json = command.json,
       .proofs = {.ranks = command.ranks,
                  .memories = memories_for_gpu_aware(transports, options.memories),
                  .file = options.proofs,
                  .says = command.quiet == Flag::yes ? ProofWish::Says::nothing
                                                     : ProofWish::Says::what_it_does},
       .threads_per_rank = 1,
       .check = [&](int ranks) { bench::check(options, ranks); },
       .work = [&](const Communicator& world) { return bench_together(command, world); }},
      words);
}

}  // namespace halocline::cli
