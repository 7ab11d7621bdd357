// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/process/launched.hpp"
#include "cli/benchmark.hpp"
#include "cli/common_options.hpp"
#include "cli/parse.hpp"
#include "lab/benchmarks.hpp"
#include "lab/progress.hpp"

namespace halocline::cli {
namespace {

const char* progress_footer =
    "Two ranks exchange one message each way, first alone and then with host work of the same "
    "length\n"
    "between start() and finish(). Overlap is the share of the transfer hidden behind the work.\n"
    "Modes of the host:\n"
    "  busy    computes and makes no calls\n"
    "  tests   computes in parts and calls progress() (MPI_Test) after each\n"
    "  thread  computes while another thread keeps calling progress(); MPI then runs with\n"
    "          MPI_THREAD_MULTIPLE, whose locks add to all times\n"
    "Every byte is checked before and after.\n\n"
    "Examples:\n"
    "  halocline-lab progress\n"
    "  halocline-lab progress --sizes 64Ki,16Mi --memory host --transport mpi --tests 100\n"
    "  mpirun -n 2 halocline-lab progress --modes busy,tests --json progress.json\n\n"
    "Exit codes: 0 ok, 1 wrong bytes, 2 usage, 3 not available here, 4 failure.";

class BenchProgress final : public Benchmark {
 public:
  explicit BenchProgress(Syntax& bench);
  BenchCommand finish() const override;

 private:
  bench::ProgressBenchOptions read() const;

  // Words as the user wrote them, before they become options.
  std::optional<std::string> sizes_, memory_, transport_, modes_;
  LoopWords loop_;
  bench::ProgressBenchOptions options_;  // what needs no reading
};

BenchProgress::BenchProgress(Syntax& bench)
    : Benchmark(bench, "progress", "measure whether messages move while the host works",
                progress_footer) {
  const OptionGroup what = group("What to exchange");
  what.option("--sizes", "LIST", sizes_, "bytes of each message [default: 4Ki,64Ki,1Mi,16Mi]");
  what.option("--memory", "LIST", memory_,
              "memory of messages: auto, device, managed, pinned, system, host\n"
              "[default: auto,host]");

  const OptionGroup how = group("How");
  how.option("--transport", "LIST", transport_,
             "peer, nccl, nvshmem, gpu_aware, staged, shared, mpi\n"
             "[default: all that are available and proved here]");
  how.option("--modes", "LIST", modes_, "busy, tests, thread [default: all]");
  how.option("--tests", "N", options_.parts,
             "break work into N parts for mode tests [default: 16]");
  add_loop(how, loop_, "0.1");
  add_proofs(how, options_.proofs);
  add_wait_limit(how);
  add_results(group("Results"));
}

bench::ProgressBenchOptions BenchProgress::read() const {
  bench::ProgressBenchOptions options = options_;
  if (sizes_) options.sizes = parse_sizes(*sizes_, "--sizes");
  if (memory_) options.memories = parse_list(*memory_, "--memory");
  if (transport_) options.transports = parse_list(*transport_, "--transport");
  if (modes_) {
    options.modes.clear();
    for (const std::string& mode : parse_list(*modes_, "--modes"))
      options.modes.push_back(bench::progress_mode_named(mode));
  }
  read_loop(loop_, options.loop);
  return options;
}

BenchCommand BenchProgress::finish() const {
  const bench::ProgressBenchOptions options = read();
  BenchCommand command = this->command(options, bench::run_progress_bench);
  if (!launched_by(current_variables())) command.job.ranks = 2;
  want_proofs(command.job, options.transports, options.memories, options.proofs);
  if (std::find(options.modes.begin(), options.modes.end(), bench::ProgressMode::thread) !=
      options.modes.end())
    command.job.calls_mpi = RankJob::Calls::from_any_thread;
  return command;
}

}  // namespace

std::unique_ptr<Benchmark> make_bench_progress(Syntax& bench) {
  return std::make_unique<BenchProgress>(bench);
}

}  // namespace halocline::cli
