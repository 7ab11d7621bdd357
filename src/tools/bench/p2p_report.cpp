// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <tuple>

#include <fmt/format.h>

#include "base/text/words.hpp"
#include "bench/p2p_bench.hpp"
#include "bench/traits.hpp"

namespace halocline::bench {
namespace {

constexpr auto latency_text = "half of a round trip, as osu_latency";
constexpr auto one_way_text =
    "a window of messages, then a reply of 4 bytes, as osu_bw; with transports of Halocline one "
    "exchange per message, one after another";
constexpr auto both_ways_text = "such a window in each direction at once, as osu_bibw";
constexpr auto unit_text = "1 MB/s is 10^6 bytes per second";

// A larger matrix is wider than a page; the JSON report has all values.
constexpr int most_ranks_in_a_matrix = 10;

std::string_view kind_text(proof::GpuPair kind) {
  constexpr std::string_view texts[] = {"same GPU", "same node", "other node"};
  return texts[static_cast<std::size_t>(kind)];
}

/// Measurements of one size for all pairs of a kind.
struct Point {
  const P2pTiming* first;  ///< represents the common properties
  std::vector<const P2pTiming*> pairs{};
};

/// Groups correct timings by memory, kind of pair, transport and size.
std::vector<Point> points_of(const P2pBenchResult& result) {
  std::vector<Point> points;
  for (const P2pTiming& timing : result.timings) {
    if (timing.wrong) continue;
    auto known = std::find_if(points.begin(), points.end(),
                              [&](const Point& point) { return are_alike(*point.first, timing); });
    if (known == points.end()) known = points.insert(points.end(), {&timing});
    known->pairs.push_back(&timing);
  }
  // Timings come pair by pair, so only kinds of pairs can be out of order.
  std::stable_sort(points.begin(), points.end(), [](const Point& a, const Point& b) {
    return std::tie(a.first->kind, a.first->memory) < std::tie(b.first->kind, b.first->memory);
  });
  return points;
}

/// Returns the median over pairs.
double median_of(const Point& point, timing::TimeSummary P2pTiming::*time,
                 double timing::TimeSummary::*seconds) {
  std::vector<double> values;
  for (const P2pTiming* timing : point.pairs) values.push_back(timing->*time.*seconds);
  std::sort(values.begin(), values.end());
  return timing::percentile(values, 50);
}

std::size_t most_pairs(const std::vector<Point>& points) {
  std::size_t most = 0;
  for (const Point& point : points) most = std::max(most, point.pairs.size());
  return most;
}

void add_curves(Report& report, const P2pBenchResult& result, const std::vector<Point>& points) {
  if (points.empty()) return;
  using PointTrait = Trait<Point>;
  const std::vector<PointTrait> traits = {
      {"memory", "memory", [](const Point& point) { return point.first->memory; }},
      {"ranks", "ranks on",
       [](const Point& point) { return std::string(kind_text(point.first->kind)); }},
      {"transport", "", [](const Point& point) { return point.first->transport; }},
      {"message", "", [](const Point& point) { return bytes_text(point.first->bytes); }}};
  const std::vector<PointTrait> columns = columns_among(traits, points);
  Table table = table_of(fmt::format("latency in us, bandwidth in GB/s{}",
                                     most_pairs(points) > 1 ? "; medians over pairs" : ""),
                         columns);
  const Format us = Format::rate("", 3), rate = Format::rate("", 4);
  if (most_pairs(points) > 1) table.columns.push_back({"pairs", "pairs"});
  table.columns.insert(table.columns.end(), {{"min", "min", us},
                                             {"latency", "latency", us},
                                             {"p99", "p99", us},
                                             {"one_way", "one way", rate},
                                             {"both_ways", "both ways", rate}});
  for (const Point& point : points) {
    std::vector<Value> row = cells_of(columns, point);
    if (most_pairs(points) > 1) row.push_back(point.pairs.size());
    const auto us_of = [&](double timing::TimeSummary::*seconds) {
      return Value(1e6 * median_of(point, &P2pTiming::latency, seconds));
    };
    const auto rate_of = [&](timing::TimeSummary P2pTiming::*time, double directions) {
      return Value(
          1e-3 * directions *
          megabytes_per_second(result, *point.first,
                               median_of(point, time, &timing::TimeSummary::median_seconds)));
    };
    row.insert(row.end(), {us_of(&timing::TimeSummary::min_seconds),
                           us_of(&timing::TimeSummary::median_seconds),
                           us_of(&timing::TimeSummary::p99_seconds),
                           rate_of(&P2pTiming::one_way, 1), rate_of(&P2pTiming::both_ways, 2)});
    table.add(std::move(row));
  }
  report.add_line("");
  report.add_table(std::move(table));
  report.add_line(fmt::format("latency: {}", latency_text));
  report.add_line(
      fmt::format("one way: {}, then a reply, as osu_bw", counted(result.window, "message")));
  report.add_line(
      fmt::format("both ways: {} each way at once, as osu_bibw; 1 GB/s is 10^9 bytes per second",
                  result.window));
}

/// Adds a matrix of all pairs for one transport: latency above the diagonal, bandwidth below.
void add_matrix(Report& report, const P2pBenchResult& result, const P2pTiming& like,
                std::int64_t smallest, std::int64_t largest) {
  Table table{
      .key = "matrix",
      .title = fmt::format("{}, {} memory: above us of {}, below GB/s of {} one way",
                           like.transport, like.memory, bytes_text(smallest), bytes_text(largest)),
      .columns = {{"rank", "rank"}},
      .audience = Audience::text};
  const auto ranks = static_cast<std::size_t>(result.ranks);
  std::vector<std::vector<Value>> cells(ranks, std::vector<Value>(ranks + 1));
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    table.columns.push_back({fmt::to_string(rank), fmt::to_string(rank), Format::rate("", 3)});
    cells[rank][0] = fmt::to_string(rank);
  }
  const auto write = [](double value) { return write_number(value, Format::rate("", 3)); };
  for (const P2pTiming& timing : result.timings) {
    if (timing.wrong || timing.memory != like.memory || timing.transport != like.transport)
      continue;
    const auto first = static_cast<std::size_t>(timing.ranks.first),
               second = static_cast<std::size_t>(timing.ranks.second);
    if (timing.bytes == smallest)
      cells[first][second + 1] = write(1e6 * timing.latency.median_seconds);
    if (timing.bytes == largest)
      cells[second][first + 1] =
          write(1e-3 * megabytes_per_second(result, timing, timing.one_way.median_seconds));
  }
  for (std::vector<Value>& row : cells) table.add(std::move(row));
  report.add_line("");
  report.add_table(std::move(table));
}

void add_matrices(Report& report, const P2pBenchResult& result) {
  if (result.ranks < 3 || result.ranks > most_ranks_in_a_matrix) return;
  std::int64_t smallest = result.timings.front().bytes, largest = smallest;
  for (const P2pTiming& timing : result.timings) {
    smallest = std::min(smallest, timing.bytes);
    largest = std::max(largest, timing.bytes);
  }
  std::vector<std::string> seen;
  for (const P2pTiming& timing : result.timings) {
    const std::string key = timing.memory + " " + timing.transport;
    if (std::find(seen.begin(), seen.end(), key) != seen.end()) continue;
    seen.push_back(key);
    add_matrix(report, result, timing, smallest, largest);
  }
}

/// Adds everything about each pair, as rows of a data frame.
void add_json_cases(Report& report, const P2pBenchResult& result) {
  Table table = json_table(
      "cases", {"ranks", "pair", "memory", "transport", "bytes", "verified", "repetitions",
                "latency_min_us", "latency_us", "latency_p99_us", "one_way_best_mb_per_s",
                "one_way_mb_per_s", "one_way_p99_mb_per_s", "both_ways_best_mb_per_s",
                "both_ways_mb_per_s", "both_ways_p99_mb_per_s"});
  for (const P2pTiming& timing : result.timings) {
    std::vector<Value> row{std::vector<int>{timing.ranks.first, timing.ranks.second},
                           proof::name_of(timing.kind),
                           timing.memory,
                           timing.transport,
                           timing.bytes,
                           !timing.wrong,
                           timing.latency.repetitions};
    const auto add = [&](double value) {
      row.push_back(timing.wrong ? std::nullopt : std::optional(value));
    };
    for (const double seconds :
         {timing.latency.min_seconds, timing.latency.median_seconds, timing.latency.p99_seconds})
      add(1e6 * seconds);
    for (const auto& [time, directions] :
         {std::pair(timing.one_way, 1.0), std::pair(timing.both_ways, 2.0)})
      for (const double seconds : {time.min_seconds, time.median_seconds, time.p99_seconds})
        add(directions * megabytes_per_second(result, timing, seconds));
    table.add(std::move(row));
  }
  report.add_table(std::move(table));
}

/// "ranks 0-3 on nodes a, b: one way of 4 MiB by peer 41 % below the median of its kind".
std::string words_for(const P2pOutlier& outlier, const P2pBenchResult& result) {
  const std::string& a = result.hosts[static_cast<std::size_t>(outlier.ranks.first)];
  const std::string& b = result.hosts[static_cast<std::size_t>(outlier.ranks.second)];
  const double percent = 100 * (outlier.share - 1);
  return fmt::format(
      "ranks {}-{} on {}: {} of {} by {} with {} memory is {:.0f} % {} the median of pairs on the "
      "{}",
      outlier.ranks.first, outlier.ranks.second,
      a == b ? fmt::format("node {}", a) : fmt::format("nodes {}, {}", a, b), outlier.what,
      bytes_text(outlier.bytes), outlier.transport, outlier.memory, std::abs(percent),
      percent < 0 ? "below" : "above", kind_text(outlier.kind));
}

void add_json_outliers(Report& report, const std::vector<P2pOutlier>& outliers) {
  Table table = json_table(
      "outliers", {"ranks", "pair", "memory", "transport", "bytes", "what", "share_of_median"});
  for (const P2pOutlier& outlier : outliers)
    table.add({std::vector<int>{outlier.ranks.first, outlier.ranks.second},
               proof::name_of(outlier.kind), outlier.memory, outlier.transport, outlier.bytes,
               outlier.what, outlier.share});
  report.add_table(std::move(table));
}

}  // namespace

double megabytes_per_second(const P2pBenchResult& result, const P2pTiming& timing, double seconds) {
  return static_cast<double>(result.window * timing.bytes) / seconds / 1e6;
}

std::string name_of(const P2pTiming& timing) {
  return fmt::format("ranks {}-{}, {} by {} with {} memory", timing.ranks.first,
                     timing.ranks.second, bytes_text(timing.bytes), timing.transport,
                     timing.memory);
}

Report report_of(const P2pBenchResult& result) {
  Report report("bench p2p", "messages between two ranks, each pair alone");
  add_ranks(report, result.ranks, result.nodes);
  const std::vector<Point> points = points_of(result);
  add_devices(report, result.devices);
  report.add("mpi", "MPI", result.mpi);
  report.add_json("window", result.window);
  report.add_json("latency", latency_text);
  report.add_json("one_way", one_way_text);
  report.add_json("both_ways", both_ways_text);
  report.add_json("unit", unit_text);
  add_json_cases(report, result);
  add_curves(report, result, points);
  add_matrices(report, result);
  const std::vector<P2pOutlier> outliers =
      result.are_crowded ? std::vector<P2pOutlier>{} : p2p_outliers(result.timings);
  add_json_outliers(report, outliers);
  std::vector<std::string> notes;
  for (const P2pOutlier& outlier : outliers) notes.push_back(words_for(outlier, result));
  notes.insert(notes.end(), result.notes.begin(), result.notes.end());
  add_notes(report, std::move(notes), result.timings);
  return report;
}

std::optional<std::string> wrong_of(const P2pBenchResult& result) {
  return first_wrong(result.timings);
}

}  // namespace halocline::bench
