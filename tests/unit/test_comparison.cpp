// SPDX-License-Identifier: Apache-2.0
// Benchmarks with and without a setting, and what is steady: no ranks.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/comparison.hpp"
#include "bench/copy_bench.hpp"
#include "bench/first_use_bench.hpp"
#include "bench/first_use_report.hpp"
#include "report/render.hpp"
#include "support/caught.hpp"

namespace halocline::test {
namespace {

using bench::FirstUseTiming;
using bench::Setting;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(Comparison, ReadsSettings) {
  const Setting set = bench::setting_named("UCX_TLS=^cuda_ipc");
  EXPECT_EQ(set.name, "UCX_TLS");
  EXPECT_EQ(set.value, "^cuda_ipc");
  EXPECT_EQ(bench::words_for(set), "UCX_TLS=^cuda_ipc");
  EXPECT_EQ(bench::setting_named("A=B=C").value, "B=C");
  EXPECT_EQ(bench::setting_named("A=").kind, Setting::Kind::set);
  const Setting unset = bench::setting_named("UCX_TLS-");
  EXPECT_EQ(unset.kind, Setting::Kind::unset);
  EXPECT_EQ(bench::words_for(unset), "without UCX_TLS");
  for (const char* word : {"", "A", "=B", "-"})
    EXPECT_EQ(caught([&] { bench::setting_named(word); }).kind, ErrorKind::usage) << word;
}

Json halo_run(double us) {
  return Json::parse(R"({"bench": "halo", "ranks": 2, "mpi": "an MPI", "notes": ["a note"],
    "cases": [{"cells_per_rank": [64, 32], "width": 1, "fields": 1, "memory": "device",
               "transport": "gpu_aware", "graph": "off", "median_us": )" +
                     std::to_string(us) + "}]}");
}

TEST(Comparison, TakesMediansAndTheirRatio) {
  const Report report = bench::compare(
      bench::setting_named("X=1"), {{halo_run(60), halo_run(68)}, {halo_run(128), halo_run(128)}});
  const std::string json = render_json(report);
  EXPECT_THAT(json, HasSubstr("\"median_us_a\": 64.0"));
  EXPECT_THAT(json, HasSubstr("\"median_us_b\": 128.0"));
  EXPECT_THAT(json, HasSubstr("\"median_us_ratio\": 2.0"));
  EXPECT_THAT(json, HasSubstr("\"cells_per_rank\": \"64x32\""));
  const std::string text = render_text(report);
  EXPECT_THAT(text, HasSubstr("bench halo, A unchanged, B X=1"));
  EXPECT_THAT(text, testing::ContainsRegex("64.00 +128.0 +2.00\n"));
  EXPECT_THAT(text, HasSubstr("A: a note"));
}

TEST(Comparison, ToldWhereOneSideHasNoSuchCase) {
  Json other = halo_run(7);
  other["cases"][0]["transport"] = "staged";
  const Report report = bench::compare(bench::setting_named("X-"), {{halo_run(5)}, {other}});
  EXPECT_THAT(render_text(report), testing::ContainsRegex("gpu_aware +5.000 +- +-\n"));
  EXPECT_THAT(render_text(report), testing::ContainsRegex("staged +- +7.000 +-\n"));
  Json step = halo_run(1);
  step["bench"] = "step";
  EXPECT_EQ(caught([&] {
              bench::compare(bench::setting_named("X-"), {{step}, {step}});
            }).kind,
            ErrorKind::usage);
}

FirstUseTiming timing_of(std::vector<double> seconds) {
  FirstUseTiming timing;
  timing.seconds = std::move(seconds);
  bench::find_steady(timing);
  return timing;
}

TEST(FirstUse, FindsWhereItIsSteady) {
  const FirstUseTiming timing = timing_of({100, 20, 1, 5, 1, 1.4, 1, 1, 1, 9, 1, 1});
  EXPECT_EQ(timing.steady_seconds, 1);
  EXPECT_EQ(timing.steady_from, 4) << "one alone may be short by chance; a later one, long";
  EXPECT_EQ(timing.extra_seconds, 99 + 19 + 0 + 4);
  EXPECT_EQ(timing_of(std::vector<double>(10, 2.0)).steady_from, 0);
  EXPECT_EQ(timing_of(std::vector<double>(10, 2.0)).extra_seconds, 0);
}

TEST(FirstUse, EndsWhereNothingIsSteady) {
  const FirstUseTiming timing = timing_of({9, 1, 9, 1, 9, 1, 9, 1, 9, 1});
  EXPECT_EQ(timing.steady_seconds, 1);
  EXPECT_EQ(timing.steady_from, 9);
}

TEST(FirstUse, RefusesWhatMakesNoSense) {
  const auto refusal = [](int ranks, auto change) {
    bench::FirstUseBenchOptions options;
    change(options);
    const Caught error = caught([&] { bench::check(options, ranks); });
    EXPECT_EQ(error.kind, ErrorKind::usage) << error.text;
    return error.text;
  };
  EXPECT_THAT(refusal(1, [](auto&) {}), HasSubstr("--ranks 2"));
  EXPECT_THAT(refusal(2, [](auto& o) { o.sizes = {12}; }), HasSubstr("12 bytes"));
  EXPECT_THAT(refusal(2, [](auto& o) { o.exchanges = 9; }), HasSubstr("9 exchanges"));
  EXPECT_THAT(refusal(2, [](auto& o) { o.transports = {"pigeon"}; }), HasSubstr("pigeon"));
  EXPECT_THAT(refusal(2, [](auto& o) { o.memories = {"lake"}; }), HasSubstr("lake"));
}

TEST(FirstUse, IsToldInOrder) {
  bench::FirstUseBenchResult result;
  result.mpi = "an MPI";
  result.ranks = 2;
  result.nodes = 1;
  result.timings = {timing_of({100e-6, 20e-6, 2e-6, 2e-6, 2e-6, 2e-6, 2e-6, 2e-6, 2e-6, 2e-6})};
  result.timings[0].memory = "host";
  result.timings[0].transports = {{"same-node", "mpi"}};
  result.timings[0].bytes = 64;
  result.timings[0].open_seconds = 3e-3;
  const std::string text = render_text(bench::report_of(result));
  EXPECT_THAT(text, testing::ContainsRegex("mpi +64 B +3000 +100 +20.0 +2.00 +2.00 +3 +116\n"));
  EXPECT_THAT(text, Not(HasSubstr("start of GPUs")));
}

TEST(Copies, AreTogetherWhereSmall) {
  EXPECT_EQ(bench::copies_at_once(1), 16);
  EXPECT_EQ(bench::copies_at_once(256 << 10), 4);
  EXPECT_EQ(bench::copies_at_once(1 << 20), 1);
  EXPECT_EQ(bench::copies_at_once(std::int64_t{1} << 34), 1);
  bench::CopyBenchOptions options;
  options.sizes = {64, 8, 8};
  EXPECT_THAT(bench::copy_sizes(options), ElementsAre(8, 64));
  options.sizes = {0};
  EXPECT_EQ(caught([&] { bench::check(options); }).kind, ErrorKind::usage);
}

}  // namespace
}  // namespace halocline::test
