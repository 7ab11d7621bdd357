// SPDX-License-Identifier: Apache-2.0
#pragma once
// A benchmark as the command line knows it: its options, and what it does on ranks.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/options.hpp"
#include "cli/ranks.hpp"
#include "comm/collectives.hpp"
#include "report/report.hpp"

namespace halocline::cli {

/// Options that all benchmarks have, or several.
struct CommonOptions {
  std::optional<int> ranks;
  double wait_limit_seconds = 120;
  std::optional<std::string> json;
  bool quiet = false;
  std::optional<std::string> trace;  ///< a file
};

/// A benchmark that was read, ready to run.
struct BenchCommand {
  RankJob job;
  /// Where `--ranks` is a list of numbers of ranks, ranks have to get it, too.
  enum class RanksOption { number, list } ranks_option = RanksOption::number;
};

/// The words that a command line with benchmarks begins with: "halocline bench", or the name of
/// another program.
std::string words_for(const Syntax& benchmarks);

/// A subcommand that measures.
class Benchmark {
 public:
  virtual ~Benchmark() = default;
  Benchmark(const Benchmark&) = delete;
  Benchmark& operator=(const Benchmark&) = delete;

  std::string name() const;
  /// True once the command line has asked for it.
  bool parsed() const;
  /// Throws usage for what is wrong whatever the number of ranks.
  virtual BenchCommand finish() const = 0;

 protected:
  /// Adds a subcommand without options to `bench`.
  Benchmark(Syntax& bench, const char* name, const char* summary, const std::string& footer);

  OptionGroup group(const char* title) { return syntax_.group(title); }
  /// Adds a word for a problem, which may be left out.
  void add_problem(std::optional<std::string>& name) {
    syntax_.optional_word("problem", "PROBLEM", name, "name of a problem [default: laplace]");
  }
  /// Adds --ranks; without it `otherwise` are started, unless a launcher has started some.
  void add_ranks(const OptionGroup& group, std::optional<int> otherwise = {});
  /// The same where the benchmark itself finds out how many that are; the words say it.
  void add_ranks(const OptionGroup& group, const std::string& otherwise);
  void add_wait_limit(const OptionGroup& group);
  void add_results(const OptionGroup& group);
  /// Adds --trace, for benchmarks whose results a trace_of() can draw.
  void add_trace(const OptionGroup& group);
  bool wants_trace() const { return common_.trace.has_value(); }
  /// What `measure` does on every rank, one thread each, and then told. The result's namespace has
  /// what is asked of both: check(options, ranks) or check(options), report_of(result),
  /// wrong_of(result) and, for --trace, trace_of(result).
  template <class Options, class Result>
  BenchCommand command(const Options& options,
                       Result (*measure)(const Communicator&, const Options&)) const;

 private:
  RankJob job() const;

  Syntax& syntax_;
  CommonOptions common_;
  std::optional<int> ranks_otherwise_;
};

/// Lets a job that uses such transports and memories make the proofs that they need; none of them
/// stands for auto.
void want_proofs(RankJob& job, const std::vector<std::string>& transports,
                 const std::vector<std::string>& memories, const std::optional<std::string>& file);

/// Prints and writes a report, as the options want it, and the trace if they want one. For the
/// first rank.
void write_results(const CommonOptions& options, const Report& report,
                   const std::optional<std::string>& trace = {});
/// Lets the first rank say what any rank found wrong; returns the exit code, the same on all.
/// Collective.
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

}  // namespace halocline::cli
