#pragma once
// A benchmark as the command line knows it: its options, and what it does on ranks.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/ranks.hpp"
#include "report/report.hpp"

namespace CLI {
class App;
}

namespace halocline::cli {

/// Options that all benchmarks have.
struct CommonOptions {
  double wait_limit_seconds = 120;
  std::optional<std::string> json;
  bool quiet = false;
  std::optional<std::string> ab;  ///< as setting_named() in bench/comparison.hpp takes it
};

/// A benchmark that was read, ready to run.
struct BenchCommand {
  RankJob job;
  CommonOptions common = {};
  /// Where `--ranks` is a list of numbers of ranks, ranks have to get it, too.
  enum class RanksOption { number, list } ranks_option = RanksOption::number;
};

/// `halocline bench NAME`.
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
  Benchmark(CLI::App& bench, const char* name, const char* summary, const char* footer);

  CLI::App& app() { return app_; }
  void add_wait_limit(const char* group);
  void add_results(const char* group);
  /// Adds --ab, for benchmarks that compare() in bench/comparison.hpp knows.
  void add_ab(const char* group);
  const CommonOptions& common() const { return common_; }

  /// What all benchmarks have in common; without check and work.
  RankJob job() const;

 private:
  CLI::App& app_;
  CommonOptions common_;
};

/// Prints and writes a report, as the options want it. For the first rank.
void write_results(const CommonOptions& options, const Report& report);

}  // namespace halocline::cli
