// SPDX-License-Identifier: Apache-2.0
#include "cli/benchmark.hpp"
#include "cli/common_options.hpp"
#include "cli/parse.hpp"
#include "lab/benchmarks.hpp"
#include "lab/copy.hpp"

namespace halocline::cli {
namespace {

const char* copy_footer =
    "Copies within host memory, between host memory (pinned or pageable) and the GPU, within the\n"
    "GPU, and to the next rank's GPU. All ranks copy at once, each on its own stream. Small "
    "copies\n"
    "are timed in a row, as many as make 1 MiB, at most 16. Every byte is checked first.\n\n"
    "Examples:\n"
    "  halocline-lab copy --sizes 64Ki,1Mi\n"
    "  halocline-lab copy --ranks 2 --sizes 16Mi --json copy.json\n\n"
    "Exit codes: 0 ok, 1 wrong bytes, 2 usage, 3 not available here, 4 failure.";

class BenchCopy final : public Benchmark {
 public:
  explicit BenchCopy(Syntax& bench);
  BenchCommand finish() const override;

 private:
  std::optional<std::string> sizes_;
  LoopWords loop_;
};

BenchCopy::BenchCopy(Syntax& bench)
    : Benchmark(bench, "copy", "time copies between memories", copy_footer) {
  const OptionGroup how = group("How");
  how.option("--sizes", "LIST", sizes_,
             "bytes of each copy, such as 64Ki,1Mi\n[default: 5 from 4Ki to 256Mi]");
  add_ranks(how);
  add_loop(how, loop_, "0.05");
  add_wait_limit(how);
  add_results(group("Results"));
}

BenchCommand BenchCopy::finish() const {
  bench::CopyBenchOptions options;
  if (sizes_) options.sizes = parse_sizes(*sizes_, "--sizes");
  read_loop(loop_, options.loop);
  return command(options, bench::run_copy_bench);
}

}  // namespace

std::unique_ptr<Benchmark> make_bench_copy(Syntax& bench) {
  return std::make_unique<BenchCopy>(bench);
}

}  // namespace halocline::cli
