// SPDX-License-Identifier: Apache-2.0
// The words of halocline-lab: what its options take, and refuse.

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/benchmark.hpp"
#include "lab/benchmarks.hpp"
#include "support/caught.hpp"

namespace halocline::test {
namespace {

using testing::HasSubstr;
using Words = std::vector<std::string>;

/// Reads a command line as the program does; the text of help, if that was asked for.
std::string read(const Words& words) {
  cli::Syntax syntax("halocline-lab", "");
  syntax.offer_help();
  const cli::Benchmarks benchmarks(
      syntax, {cli::make_bench_mesh, cli::make_bench_progress, cli::make_bench_overhead,
               cli::make_bench_copy, cli::make_bench_first_use, cli::make_bench_layout});
  if (const auto help = syntax.parse(words)) return *help;
  const cli::BenchCommand command = benchmarks.finish();
  if (command.job.check) command.job.check(command.job.ranks.value_or(2));
  return "";
}

std::string refusal(const Words& words) {
  const Caught error = caught([&] { read(words); });
  EXPECT_EQ(error.kind, ErrorKind::usage) << testing::PrintToString(words);
  return error.text;
}

struct Row {
  Words command;
  std::string option, good, bad;
};

TEST(LabCommandLine, ReadsTheWordsOfEveryOption) {
  const std::string sizes = "8,064Ki,1e3", no_size = "8,64k", whole = "010", no_number = "2,";
  for (const Row& row : std::vector<Row>{
           {{"mesh", "--ranks", "2"}, "--sizes", sizes, no_size},
           {{"mesh", "--ranks", "2"}, "--orders", "ordered,irecv-send", "sideways"},
           {{"mesh", "--ranks", "2"}, "--periodic", "yx", "w"},
           {{"mesh", "--ranks", "2"}, "--process-grid", "02x1", "2y1"},
           {{"mesh"}, "--ranks", "04", "0"},
           {{"progress"}, "--sizes", sizes, no_size},
           {{"progress"}, "--memory", "auto,host", "lake"},
           {{"progress"}, "--transport", "shared,mpi", "pigeon"},
           {{"progress"}, "--modes", "busy,thread", "asleep"},
           {{"progress"}, "--tests", whole, "0"},
           {{"overhead"}, "--sizes", sizes, "0"},
           {{"overhead"}, "--memory-sizes", sizes, "0"},
           {{"overhead"}, "--ranks", "02", no_number},
           {{"copy"}, "--sizes", sizes, "0"},
           {{"copy"}, "--ranks", "02", "0"},
           {{"first-use"}, "--sizes", "8,064Ki", "12"},
           {{"first-use"}, "--exchanges", whole, "3"},
           {{"first-use"}, "--transport", "shared,mpi", "pigeon"},
           {{"first-use"}, "--memory", "auto,host", "lake"},
           {{"first-use"}, "--ranks", "02", "0"},
           {{"layout", "--backend", "cpu", "--ranks", "2"}, "--ways", "mpi", "pigeon"},
       }) {
    Words words = row.command;
    words.insert(words.end(), {row.option, row.good});
    EXPECT_EQ(caught([&] { read(words); }).text, "no error") << testing::PrintToString(words);
    words.back() = row.bad;
    EXPECT_THAT(refusal(words), HasSubstr(row.bad.substr(0, row.bad.find(',')))) << row.option;
  }
  for (const char* name : {"mesh", "progress", "overhead", "copy"}) {
    EXPECT_EQ(read({name, "--repetitions", "03"}), "");
    EXPECT_THAT(refusal({name, "--repetitions", "0"}), HasSubstr("0 repetitions")) << name;
    EXPECT_THAT(refusal({name, "--seconds", "0"}), HasSubstr("0 seconds")) << name;
    EXPECT_THAT(refusal({name, "--seconds", "1", "--repetitions", "2"}), HasSubstr("not both"));
    EXPECT_THAT(refusal({name, "--wait-limit", "-1"}), HasSubstr("wait limit -1"));
  }
}

TEST(LabCommandLine, HelpsWithEveryBenchmark) {
  const std::string help = read({"--help"});
  for (const char* name : {"mesh", "progress", "overhead", "copy", "first-use", "layout"}) {
    EXPECT_THAT(help, HasSubstr(std::string("\n  ") + name + " "));
    EXPECT_THAT(read({name, "--help"}), HasSubstr(std::string("\n  halocline-lab ") + name));
    EXPECT_THAT(refusal({name, "--speed", "3"}), HasSubstr(std::string(name) + " --help"));
  }
  EXPECT_THAT(refusal({}), HasSubstr("mesh, progress, overhead, copy, first-use, layout"));
}

}  // namespace
}  // namespace halocline::test
