// SPDX-License-Identifier: Apache-2.0
#include "cli/benchmark.hpp"
#include "cli/common_options.hpp"
#include "cli/parse.hpp"
#include "lab/benchmarks.hpp"
#include "lab/overhead.hpp"

namespace halocline::cli {
namespace {

const char* overhead_footer =
    "Three costs of using a GPU from its host, each call timed alone:\n"
    "  messages  MPI_Send and MPI_Recv of host memory between two ranks, before and after the\n"
    "            process first uses its GPU: from then on, a GPU-aware MPI has to look up the\n"
    "            kind of memory behind every pointer\n"
    "  pinning   allocating pinned memory, which a GPU can copy directly, and pageable memory\n"
    "  waiting   ways for the host to learn that a stream has finished\n"
    "Where a variable turns off MPI's own GPU support, measure what that support costs with\n"
    "lab/ab NAME=VALUE halocline bench p2p --memory host.\n\n"
    "Examples:\n"
    "  halocline-lab overhead\n"
    "  halocline-lab overhead --memory-sizes 64Ki,1Gi --seconds 0.5 --json overhead.json\n\n"
    "Exit codes: 0 ok, 1 wrong bytes, 2 usage, 3 not available here, 4 failure.";

class BenchOverhead final : public Benchmark {
 public:
  explicit BenchOverhead(Syntax& bench);
  BenchCommand finish() const override;

 private:
  bench::OverheadBenchOptions read() const;

  // Words as the user wrote them, before they become options.
  std::optional<std::string> sizes_, memory_sizes_;
  LoopWords loop_;
};

BenchOverhead::BenchOverhead(Syntax& bench)
    : Benchmark(bench, "overhead", "time what using a GPU costs the host", overhead_footer) {
  const OptionGroup what = group("What to measure");
  what.option("--sizes", "LIST", sizes_, "bytes of messages [default: 8,64Ki,1Mi]");
  what.option("--memory-sizes", "LIST", memory_sizes_,
              "bytes of memory to pin [default: 4Ki,1Mi,64Mi]");

  const OptionGroup how = group("How");
  add_ranks(how, 2);
  add_loop(how, loop_, "0.1");
  add_wait_limit(how);
  add_results(group("Results"));
}

bench::OverheadBenchOptions BenchOverhead::read() const {
  bench::OverheadBenchOptions options;
  if (sizes_) options.message_sizes = parse_sizes(*sizes_, "--sizes");
  if (memory_sizes_) options.memory_sizes = parse_sizes(*memory_sizes_, "--memory-sizes");
  read_loop(loop_, options.loop);
  return options;
}

BenchCommand BenchOverhead::finish() const { return command(read(), bench::run_overhead_bench); }

}  // namespace

std::unique_ptr<Benchmark> make_bench_overhead(Syntax& bench) {
  return std::make_unique<BenchOverhead>(bench);
}

}  // namespace halocline::cli
