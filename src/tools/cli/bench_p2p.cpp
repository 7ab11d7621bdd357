// SPDX-License-Identifier: Apache-2.0
#include "bench/p2p_bench.hpp"
#include "cli/benchmark.hpp"
#include "cli/common_options.hpp"
#include "cli/parse.hpp"

namespace halocline::cli {
namespace {

const char* p2p_footer =
    "Each pair of ranks measures alone, as OSU's benchmarks define it; 1 GB/s = 10^9 bytes/s:\n"
    "  latency    half of a round trip (osu_latency); up to 8 KiB, the mean of 10\n"
    "  one way    64 messages from the lower rank, then an answer of 4 bytes (osu_bw)\n"
    "  both ways  64 messages in each direction at once, total bytes (osu_bibw)\n"
    "Transports mpi and gpu_aware are plain MPI calls; the others are Halocline exchanges, one "
    "after\n"
    "another. Warm-up messages, a tenth of the time, do not count. Every byte is checked before "
    "and\n"
    "after.\n\n"
    "Examples:\n"
    "  halocline bench p2p\n"
    "  halocline bench p2p --ranks 4 --pairs 0-1,0-3 --sizes 8,64Ki,1Mi --seconds 0.01\n"
    "  halocline bench p2p --memory device,host --transport peer,shared --sizes 8\n"
    "  mpirun -n 2 halocline bench p2p --sizes 64Ki --window 16 --json p2p.json\n"
    "  halocline bench p2p --sizes 8,1Mi --trace p2p.trace.json\n\n"
    "Exit codes: 0 ok, 1 wrong bytes, 2 usage, 3 not available here, 4 failure.";

class BenchP2p final : public Benchmark {
 public:
  explicit BenchP2p(Syntax& bench)
      : Benchmark(bench, "p2p", "time messages between pairs of ranks", p2p_footer) {
    const OptionGroup what = group("What to send");
    what.option("--pairs", "LIST", pairs_, "pairs of ranks, such as 0-1,0-3 [default: all]");
    what.option("--sizes", "LIST", sizes_,
                "bytes of a message, such as 8,64Ki,1Mi\n[default: 9 from 1 to 4Mi]");
    what.option("--window", "N", options_.window,
                "messages per bandwidth measurement [default: 64]");

    const OptionGroup how = group("How");
    how.option("--transport", "LIST", transport_,
               "peer, nccl, nvshmem, gpu_aware, staged, shared, mpi\n"
               "[default: all that are available and proved here]");
    how.option("--memory", "LIST", memory_,
               "memory of messages: auto, device, managed, pinned, system, host\n[default: auto]");
    add_ranks(how, 2);
    add_loop(how, loop_, "0.05");
    add_proofs(how, options_.proofs);
    add_wait_limit(how);
    const OptionGroup results = group("Results");
    add_results(results);
    add_trace(results);
  }

  BenchCommand finish() const override {
    const bench::P2pBenchOptions options = read();
    BenchCommand command = this->command(options, bench::run_p2p_bench);
    want_proofs(command.job, options.transports, options.memories, options.proofs);
    return command;
  }

 private:
  bench::P2pBenchOptions read() const {
    bench::P2pBenchOptions options = options_;
    if (pairs_ && *pairs_ != "all")
      for (const auto& [first, second] : parse_pairs(*pairs_, "--pairs"))
        options.pairs.push_back({first, second});
    if (sizes_) options.sizes = parse_sizes(*sizes_, "--sizes");
    if (transport_) options.transports = parse_list(*transport_, "--transport");
    if (memory_) options.memories = parse_list(*memory_, "--memory");
    read_loop(loop_, options.loop);
    options.keeps_spans = wants_trace();
    return options;
  }

  // Words of the command line, before they become options.
  std::optional<std::string> pairs_, sizes_, transport_, memory_;
  LoopWords loop_;
  bench::P2pBenchOptions options_;  // other options
};

}  // namespace

std::unique_ptr<Benchmark> make_bench_p2p(Syntax& bench) {
  return std::make_unique<BenchP2p>(bench);
}

}  // namespace halocline::cli
