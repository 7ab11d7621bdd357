// SPDX-License-Identifier: Apache-2.0
#pragma once
// Benchmarks on a command line: options, and the work on ranks.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/options.hpp"
#include "cli/ranks.hpp"
#include "comm/collectives.hpp"
#include "report/report.hpp"

namespace halocline::cli {

/// Options of all or several benchmarks.
struct CommonOptions {
  std::optional<int> ranks;
  double wait_limit_seconds = 120;
  std::optional<std::string> json;
  bool quiet = false;
  std::optional<std::string> trace;  ///< a file
};

/// A benchmark with its options read, ready to run.
struct BenchCommand {
  RankJob job;
  /// list: --ranks is a list of numbers of ranks, which is passed on to ranks.
  enum class RanksOption { number, list } ranks_option = RanksOption::number;
};

/// Returns the beginning of a command line with benchmarks: "halocline bench", or the name of
/// another program.
std::string words_for(const Syntax& benchmarks);

/// A subcommand that runs a benchmark.
class Benchmark {
 public:
  virtual ~Benchmark() = default;
  Benchmark(const Benchmark&) = delete;
  Benchmark& operator=(const Benchmark&) = delete;

  std::string name() const;
  /// True once the command line has selected it.
  bool parsed() const;
  /// Throws usage for errors that do not depend on the number of ranks.
  virtual BenchCommand finish() const = 0;

 protected:
  /// Adds a subcommand without options to `bench`.
  Benchmark(Syntax& bench, const char* name, const char* summary, const std::string& footer);

  OptionGroup group(const char* title) { return syntax_.group(title); }
  /// Adds an optional word for a problem.
  void add_problem(std::optional<std::string>& name) {
    syntax_.optional_word("problem", "PROBLEM", name, "name of a problem [default: laplace]");
  }
  /// Adds --ranks; without it starts `otherwise` ranks, unless a launcher has started some.
  void add_ranks(const OptionGroup& group, std::optional<int> otherwise = {});
  /// The same with a description of the default, which the benchmark itself determines.
  void add_ranks(const OptionGroup& group, const std::string& otherwise);
  void add_wait_limit(const OptionGroup& group);
  void add_results(const OptionGroup& group);
  /// Adds --trace, for benchmarks with a trace_of(result).
  void add_trace(const OptionGroup& group);
  bool wants_trace() const { return common_.trace.has_value(); }
  /// Makes a command that runs `measure` on every rank, with one thread each, and reports the
  /// result. The result's namespace must have check(options, ranks) or check(options),
  /// report_of(result), wrong_of(result) and, for --trace, trace_of(result).
  template <class Options, class Result>
  BenchCommand command(const Options& options,
                       Result (*measure)(const Communicator&, const Options&)) const;

 private:
  RankJob job() const;

  Syntax& syntax_;
  CommonOptions common_;
  std::optional<int> ranks_otherwise_;
};

/// Requests the proofs that a job with these transports and memories needs; no transports mean
/// auto.
void want_proofs(RankJob& job, const std::vector<std::string>& transports,
                 const std::vector<std::string>& memories, const std::optional<std::string>& file);

/// Prints and writes the report, and the trace if requested. For the first rank.
void write_results(const CommonOptions& options, const Report& report,
                   const std::optional<std::string>& trace = {});
/// Prints the first error of any rank on the first rank; returns the exit code, the same on all
/// ranks. Collective.
int report_wrong(const Communicator& world, const std::optional<std::string>& wrong);

template <class Options, class Result>
BenchCommand Benchmark::command(const Options& options,
                                Result (*measure)(const Communicator&, const Options&)) const {
  BenchCommand command{job()};
  command.job.check = [options](int ranks) {
    if constexpr (requires { check(options, ranks); })
      check(options, ranks);
    else
      check(options);
  };
  command.job.work = [options, measure, common = common_](const Communicator& world) {
    const Result result = measure(world, options);
    comm::on_first_rank(world, [&] {
      std::optional<std::string> trace;
      if constexpr (requires { trace_of(result); })
        if (common.trace) trace = trace_of(result);
      write_results(common, report_of(result), trace);
    });
    return report_wrong(world, wrong_of(result));
  };
  return command;
}

/// The benchmarks of `halocline bench`; each adds itself to `bench`.
std::unique_ptr<Benchmark> make_bench_halo(Syntax& bench);
std::unique_ptr<Benchmark> make_bench_step(Syntax& bench);
std::unique_ptr<Benchmark> make_bench_p2p(Syntax& bench);
std::unique_ptr<Benchmark> make_bench_layout(Syntax& bench);

/// Benchmarks as subcommands of a command.
class Benchmarks {
 public:
  using Make = std::unique_ptr<Benchmark> (*)(Syntax& syntax);
  Benchmarks(Syntax& syntax, const std::vector<Make>& makers);

  /// True once the command line has selected one, or just the command.
  bool parsed() const { return syntax_.parsed(); }
  /// Throws usage, also if none is selected.
  BenchCommand finish() const;

 private:
  Syntax& syntax_;
  std::vector<std::unique_ptr<Benchmark>> benchmarks_;
};

/// Adds `bench` with all its benchmarks.
Benchmarks add_bench(Syntax& syntax);

/// Starts ranks if requested and none were started, or measures as one of them; returns the exit
/// code. `words` are the whole command line, for the ranks.
int run_bench(const BenchCommand& command, const std::vector<std::string>& words);

}  // namespace halocline::cli
