// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include <halocline/error.hpp>

#include "grid/text.hpp"
#include "report/render.hpp"

namespace halocline {
namespace {

TEST(Format, KeepsSignificantDigitsInPositionalNotation) {
  EXPECT_EQ(write_number(13630.1557717833, Format::general(15)), "13630.1557717833");
  EXPECT_EQ(write_number(0.25, Format::general(6)), "0.25");
  EXPECT_EQ(write_number(12345.6, Format::general(4)), "12346");
  EXPECT_EQ(write_number(100, Format::general(6)), "100");
  EXPECT_EQ(write_number(0, Format::general(6)), "0");
  EXPECT_EQ(write_number(1e-9, Format::general(3)), "1.00e-09");
  EXPECT_EQ(write_number(-2.5, Format::general(3)), "-2.5");
}

TEST(Format, KeepsTrailingZerosOfRates) {
  EXPECT_EQ(write_number(12.3, Format::rate("GLUP/s")), "12.30 GLUP/s");
  EXPECT_EQ(write_number(512, Format::rate("GLUP/s")), "512.0 GLUP/s");
}

TEST(Format, ScalesTimes) {
  EXPECT_EQ(write_number(1.5, Format::time()), "1.50 s");
  EXPECT_EQ(write_number(0.0123, Format::time()), "12.3 ms");
  EXPECT_EQ(write_number(3.2e-5, Format::time()), "32.0 us");
  EXPECT_EQ(write_number(4e-9, Format::time()), "4.00 ns");
  EXPECT_EQ(write_number(0, Format::time()), "0 s");
  EXPECT_EQ(write_number(4500, Format::time(1e-6)), "4.50 ms") << "given in microseconds";
  EXPECT_EQ(write_number(90, Format::time()), "90.0 s");
}

TEST(Format, ScalesBytes) {
  EXPECT_EQ(write_number(1023, Format::bytes()), "1023 B");
  EXPECT_EQ(write_number(1536, Format::bytes()), "1.5 KiB");
  EXPECT_EQ(write_number(3.0 * 1024 * 1024 * 1024, Format::bytes()), "3 GiB");
  EXPECT_EQ(write_number(65536, Format::bytes()), "64 KiB");
  EXPECT_EQ(write_number(16 << 20, Format::bytes()), "16 MiB");
}

TEST(Format, KeepsAUnitOfTimeThatIsNamed) {
  EXPECT_EQ(write_number(1.5, Format::time_in("us")), "1500000 us");
  EXPECT_EQ(write_number(4e-9, Format::time_in("us")), "0.00400 us");
  EXPECT_EQ(write_number(4500, Format::time_in("ms", 1e-6)), "4.50 ms");
  EXPECT_THROW(write_number(1, Format::time_in("fortnights")), Error);
}

TEST(Format, WritesScientificAndNotFiniteNumbers) {
  EXPECT_EQ(write_number(0.04995, Format::scientific()), "4.995e-02");
  EXPECT_EQ(write_number(std::nan(""), Format::general(6)), "nan");
  EXPECT_EQ(write_number(-std::numeric_limits<double>::infinity(), Format::time()), "-inf s");
}

TEST(Words, CountOneWithoutAnS) {
  EXPECT_EQ(grid::cells_text({1}), "1 cell");
  EXPECT_EQ(grid::cells_text({0}), "0 cells");
  EXPECT_EQ(grid::cells_text({1, 1}), "1x1 cells");
  EXPECT_EQ(grid::cells_text({256, 128}), "256x128 cells");
}

TEST(RenderText, AlignsLabelsUnderTheTitle) {
  Report report("", "laplace 2-D, 256x128 cells, f64, max norm");
  report.add("ranks", "ranks", 3, "3 (3 on 1 node), process grid 1x3");
  report.add("glups", "rate", 12.3, Format::rate("GLUP/s"));
  report.add("verified", "verified", true);
  report.add("baseline", "baseline", nullptr);
  report.add_line("");
  report.add_line("199 sweeps, converged: norm 4.995e-02 <= 5.000e-02");
  EXPECT_EQ(render_text(report),
            "laplace 2-D, 256x128 cells, f64, max norm\n"
            "  ranks     3 (3 on 1 node), process grid 1x3\n"
            "  rate      12.30 GLUP/s\n"
            "  verified  yes\n"
            "  baseline  -\n"
            "\n"
            "  199 sweeps, converged: norm 4.995e-02 <= 5.000e-02\n");
}

TEST(RenderText, ShowsExactCountsAndSpreadsInOneUnit) {
  Report report;
  report.add("messages", "messages", 123456789);
  report.add("largest", "largest", std::uint64_t{18446744073709551615U});
  report.add("bytes", "volume", 1630208, Format::bytes());
  report.add("us", "exchange", MinMeanMax{3.2, 4.5, 10.12}, Format::time(1e-6));
  report.add("grid", "process grid", std::vector<int>{1, 3});
  EXPECT_EQ(render_text(report),
            "messages      123456789\n"
            "largest       18446744073709551615\n"
            "volume        1.55 MiB\n"
            "exchange      3.20 / 4.50 / 10.1 us (min / mean / max)\n"
            "process grid  1, 3\n");
}

TEST(RenderText, IndentsTitledSectionsAndMergesUntitledOnes) {
  Report report("", "title");
  report.add("a", "a", 1);
  report.add_section("inner", "").add("b", "longer label", 2);
  report.add_section("seconds", "time").add("loop", "loop", 1.5, Format::time());
  report.add_section("machine", "machine", Audience::json).add("x", "x", 1);
  EXPECT_EQ(render_text(report),
            "title\n"
            "  a             1\n"
            "  longer label  2\n"
            "  time\n"
            "    loop  1.50 s\n");
}

TEST(RenderText, WrapsLongWordsAtHundredColumns) {
  Report report("", "title");
  std::string sentence;
  for (int i = 0; i < 60; ++i) sentence += "word ";
  report.add_text("label", sentence);
  report.add_notes("notes", {sentence});
  const std::string text = render_text(report);
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
    EXPECT_LE(end - begin, 100U) << text.substr(begin, end - begin);
  EXPECT_NE(text.find("\n         word"), std::string::npos) << "continues under the value";
  EXPECT_NE(text.find("  note: word"), std::string::npos);
}

TEST(RenderText, DoesNotLoopOnAWordThatCannotBeBroken) {
  Report report("", std::string(300, 'x'));
  report.add_text("label", std::string(300, 'y') + " " + std::string(300, 'z'));
  EXPECT_NE(render_text(report).find(std::string(300, 'z')), std::string::npos);
}

TEST(RenderText, KeepsTheUnitOfAColumnWhateverItsValues) {
  for (const double seconds : {3e-7, 3e-4, 3.0}) {
    Report report;
    report.add_table({"times", "", {{"median", "median", Format::time_in("us")}}}).add({seconds});
    EXPECT_EQ(render_text(report).substr(0, 10), "median us\n") << seconds;
  }
}

Report with_table(Table::Shape shape) {
  Report report;
  report
      .add_table({"phases",
                  "time per rank",
                  {{"phase", "phase"}, {"min", "min", Format::time()}, {"n", "calls"}},
                  shape})
      .add({"compute", 0.012, 7})
      .add({"pack", 1e-5, nullptr});
  return report;
}

TEST(RenderText, RightAlignsNumbersAndGivesAColumnOneUnit) {
  EXPECT_EQ(render_text(with_table(Table::Shape::objects)),
            "time per rank\n"
            "  phase    min ms  calls\n"
            "  compute    12.0      7\n"
            "  pack     0.0100      -\n");
}

TEST(RenderText, ShowsATableWithoutRows) {
  Report report;
  report.add_table({"t", "", {{"a", "a"}, {"b", "b"}}});
  EXPECT_EQ(render_text(report), "a  b\n");
}

TEST(Table, RefusesARowOfAnotherWidth) {
  Table table{"t", "", {{"a", "a"}, {"b", "b"}}};
  EXPECT_THROW(table.add({1}), Error);
}

TEST(RenderJson, ShapesTablesAsAsked) {
  EXPECT_EQ(render_json(with_table(Table::Shape::objects)),
            "{\n  \"phases\": [\n"
            "    {\"phase\": \"compute\", \"min\": 0.012, \"n\": 7},\n"
            "    {\"phase\": \"pack\", \"min\": 1e-05, \"n\": null}\n"
            "  ]\n}\n");
  EXPECT_EQ(
      render_json(with_table(Table::Shape::arrays)),
      "{\n  \"phases\": [\n    [\"compute\", 0.012, 7],\n    [\"pack\", 1e-05, null]\n  ]\n}\n");
  EXPECT_EQ(render_json(with_table(Table::Shape::keyed)),
            "{\n  \"phases\": {\n"
            "    \"compute\": {\"min\": 0.012, \"n\": 7},\n"
            "    \"pack\": {\"min\": 1e-05, \"n\": null}\n"
            "  }\n}\n");
}

TEST(RenderJson, KeepsOrderNestsAndFlattens) {
  Report report("", "title");
  report.add_json("zebra", "z").add_json("apple", std::vector<int>{256, 128});
  report.add_section("", "shown as a block").add("checksum", "checksum", "528098ec285fe4a5");
  report.add_section("seconds", "time").add("loop", "loop", 1.5, Format::time());
  report.add_section("", "for people only", Audience::text).add("x", "x", 1);
  report.add("us", "exchange", MinMeanMax{1, 2, 3}, Format::time(1e-6));
  report.add_line("for people only");
  report.add_notes("notes", {});
  EXPECT_EQ(render_json(report),
            "{\n"
            "  \"zebra\": \"z\",\n"
            "  \"apple\": [256, 128],\n"
            "  \"checksum\": \"528098ec285fe4a5\",\n"
            "  \"seconds\": {\"loop\": 1.5},\n"
            "  \"us\": {\"min\": 1.0, \"mean\": 2.0, \"max\": 3.0},\n"
            "  \"notes\": []\n"
            "}\n");
}

TEST(RenderJson, PutsEachPairOfAHistoryOnItsLine) {
  Report report;
  report.add_json("norm_history", std::vector<std::pair<int, double>>{{0, 0.1}, {1, 1.0 / 3}});
  EXPECT_EQ(render_json(report),
            "{\n  \"norm_history\": [\n    [0, 0.1],\n    [1, 0.3333333333333333]\n  ]\n}\n");
}

TEST(RenderJson, WritesDoublesThatReadBackToTheSameBits) {
  for (const double value :
       {0.1, 1.0 / 3, 13630.1557717833, 5e-324, 1.7976931348623157e308, -0.0, 123456789.0, 1e22}) {
    Report report;
    report.add_json("x", value);
    const std::string json = render_json(report);
    const double read = std::strtod(json.c_str() + json.find(':') + 1, nullptr);
    EXPECT_EQ(read, value) << json;
    EXPECT_EQ(std::signbit(read), std::signbit(value)) << json;
  }
}

TEST(RenderJson, TurnsWhatIsNotFiniteIntoNull) {
  Report report;
  report.add_json("x", std::vector<double>{std::nan(""), std::numeric_limits<double>::infinity()});
  EXPECT_EQ(render_json(report), "{\n  \"x\": [null, null]\n}\n");
}

TEST(RenderJson, EscapesStringsAndReplacesInvalidUtf8) {
  Report report;
  report.add_json("path", std::string("a\"b\\\n\xff"));
  EXPECT_EQ(render_json(report), "{\n  \"path\": \"a\\\"b\\\\\\n\xEF\xBF\xBD\"\n}\n");
}

TEST(RenderJson, RefusesAKeyGivenTwice) {
  Report report;
  report.add_json("x", 1).add_json("x", 2);
  EXPECT_THROW(render_json(report), Error);
}

TEST(RenderJson, RefusesAValueWithoutAKey) {
  Report report;
  report.add("", "label", 1);
  EXPECT_THROW(render_json(report), Error);
}

TEST(RenderJson, WritesAnEmptyReport) { EXPECT_EQ(render_json(Report()), "{}\n"); }

}  // namespace
}  // namespace halocline
