// SPDX-License-Identifier: Apache-2.0
#include "cli/benchmark.hpp"
#include "cli/common_options.hpp"
#include "cli/parse.hpp"
#include "lab/benchmarks.hpp"
#include "lab/first_use.hpp"

namespace halocline::cli {
namespace {

const char* first_use_footer =
    "Ranks in a row exchange with their neighbours, with one plan per memory, transport and size.\n"
    "The same processes make the plans in that order: name a single transport to see its cost in "
    "a\n"
    "process that has used none before. Every byte is checked after the last exchange.\n\n"
    "Examples:\n"
    "  halocline-lab first-use\n"
    "  halocline-lab first-use --sizes 64Ki --memory host --json first.json\n\n"
    "Exit codes: 0 ok, 1 wrong bytes, 2 usage, 3 not available here, 4 failure.";

class BenchFirstUse final : public Benchmark {
 public:
  explicit BenchFirstUse(Syntax& bench);
  BenchCommand finish() const override;

 private:
  std::optional<std::string> sizes_, transport_, memory_;
  bench::FirstUseBenchOptions options_;  // what needs no reading
};

BenchFirstUse::BenchFirstUse(Syntax& bench)
    : Benchmark(bench, "first-use", "time the first exchanges of a plan", first_use_footer) {
  const OptionGroup how = group("How");
  how.option("--sizes", "LIST", sizes_,
             "bytes sent to each neighbour, such as 64Ki,1Mi [default: 4Ki,4Mi]");
  how.option("--exchanges", "N", options_.exchanges, "exchanges of each plan [default: 50]");
  how.option("--transport", "LIST", transport_,
             "transports [default: all that are available and proved here]");
  how.option("--memory", "LIST", memory_,
             "where fields live: auto, device, managed, pinned, system, host\n[default: auto]");
  add_ranks(how, 2);
  add_proofs(how, options_.proofs);
  add_wait_limit(how);
  add_results(group("Results"));
}

BenchCommand BenchFirstUse::finish() const {
  bench::FirstUseBenchOptions options = options_;
  if (sizes_) options.sizes = parse_sizes(*sizes_, "--sizes");
  if (transport_) options.transports = parse_list(*transport_, "--transport");
  if (memory_) options.memories = parse_list(*memory_, "--memory");
  BenchCommand command = this->command(options, bench::run_first_use_bench);
  want_proofs(command.job, options.transports, options.memories, options.proofs);
  return command;
}

}  // namespace

std::unique_ptr<Benchmark> make_bench_first_use(Syntax& bench) {
  return std::make_unique<BenchFirstUse>(bench);
}

}  // namespace halocline::cli
