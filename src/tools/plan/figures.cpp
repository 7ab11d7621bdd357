// SPDX-License-Identifier: Apache-2.0
#include "plan/figures.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <halocline/error.hpp>

#include "base/json_text.hpp"

namespace halocline::plan {
namespace {

double product(const Json& extents) {
  double all = 1;
  for (const Json& extent : extents) all *= extent.get<double>();
  return all;
}

std::string where_of(const Json& report) {
  return fmt::format("{} on {}, {} memory", report.at("backend").get<std::string>(),
                     report.at("devices").at(0).at("name").get<std::string>(),
                     report.at("memory").get<std::string>());
}

Extents extents_of(const Json& list) {
  Int3 values{1, 1, 1};
  for (std::size_t axis = 0; axis < list.size() && axis < 3; ++axis)
    values[static_cast<int>(axis)] = list[axis].get<std::int64_t>();
  return {values, static_cast<int>(list.size())};
}

bool is_on_gpu(const Json& report) { return report.at("backend") == "cuda"; }

/// One run on the ranks of a node or more, in seconds per sweep.
struct Measured {
  Figures::Rate rate;  ///< all but the rate
  double sweep, exchange, reduce;
  Figures::Exchanged exchanged;  ///< all but what follows from the rest
  bool is_in_order;              ///< no sweep runs during an exchange
};

void add_measured(Figures& figures, const Measured& run) {
  Figures::Rate rate = run.rate;
  const double alone = run.sweep - run.exchange - run.reduce;
  if (alone <= 0) return;
  rate.cells_per_second = rate.cells / alone;
  rate.seconds_of_all_reduce = run.reduce * static_cast<double>(rate.norm_every);
  figures.rates.push_back(rate);
  if (run.exchanged.messages == 0 || run.exchanged.bytes <= 0 || run.exchange <= 0 ||
      !run.is_in_order)
    return;
  Figures::Exchanged exchanged = run.exchanged;
  exchanged.ranks = rate.ranks;
  exchanged.between_sweeps = true;
  figures.exchanges.push_back(exchanged);
}

/// Cases on several CPUs contain their exchanges and all-reduces, which the report tells apart.
/// GPUs overlap these with sweeps, and share no memory: there the rate of one rank is that of all.
void add_steps(Figures& figures, const Json& report) {
  for (const Json& of : report.at("cases")) {
    const int ranks = of.at("ranks");
    const bool is_apart = of.contains("exchange_us") && of.at("exchange_us").is_number();
    if (ranks > 1 && !is_apart) continue;
    // Sweeps in deep halos update some cells twice, and not all are after an exchange.
    if (of.value("halo_depth", 1) > 1) continue;
    const auto seconds = [&](const char* key) {
      return is_apart ? of.at(key).get<double>() * 1e-6 : 0;
    };
    add_measured(figures, {.rate = {.problem = report.at("problem"),
                                    .precision = of.at("precision"),
                                    .cells = product(of.at("cells")) / ranks,
                                    .cells_per_second = 0,
                                    .ranks = ranks,
                                    .threads = report.at("threads_per_rank"),
                                    .norm_every = of.at("norm") == "none"
                                                      ? 0
                                                      : of.at("norm_every").get<std::int64_t>(),
                                    .on_gpu = is_on_gpu(report),
                                    .where = where_of(report)},
                           .sweep = of.at("median_us").get<double>() * 1e-6,
                           .exchange = seconds("exchange_us"),
                           .reduce = seconds("reduce_us"),
                           .exchanged = {.messages = of.at("messages"),
                                         .bytes = of.at("bytes"),
                                         .seconds = seconds("exchange_us"),
                                         .transport = of.at("transport"),
                                         .split = split_of(extents_of(of.at("process_grid")))},
                           .is_in_order = of.at("schedule") == "sequential"});
  }
}

void add_exchanges(Figures& figures, const Json& report) {
  for (const Json& of : report.at("cases"))
    if (of.at("bytes") > 0)
      figures.exchanges.push_back({.messages = of.at("messages"),
                                   .bytes = of.at("bytes"),
                                   .seconds = of.at("median_us").get<double>() * 1e-6,
                                   .transport = of.at("transport"),
                                   .ranks = report.at("ranks"),
                                   .split = split_of(extents_of(of.at("process_grid")))});
}

/// Sweeps from one norm to the next; 0 for a run without norms.
std::int64_t norm_every_of(const Json& report) {
  const Json& norms = report.at("norm_history");
  if (norms.empty()) return 0;
  if (norms.size() == 1) return report.at("sweeps");
  // As doubles, for a file may hold any numbers, whose difference no integer need hold.
  const double every = norms.at(1).at(0).get<double>() - norms.at(0).at(0).get<double>();
  return every >= 1 && every <= 1e15 ? static_cast<std::int64_t>(every) : 0;
}

/// One solve. On CPUs sweeps, exchanges and norms are told apart; on GPUs, or if it has too few
/// sweeps for that, its rate is what each rank updated with all of them.
void add_solve(Figures& figures, const Json& report) {
  const int ranks = report.at("ranks");
  Figures::Rate rate{.problem = report.at("problem"),
                     .precision = report.at("precision"),
                     .cells = product(report.at("cells")) / ranks,
                     .cells_per_second = report.at("glups_per_rank").get<double>() * 1e9,
                     .ranks = ranks,
                     .threads = report.at("threads_per_rank"),
                     .norm_every = norm_every_of(report),
                     .on_gpu = is_on_gpu(report),
                     .where = where_of(report)};
  const double sweeps = report.at("sweeps").get<double>() - 1;
  if (rate.on_gpu || sweeps < 1) return figures.rates.push_back(rate);
  const Json& halo = report.at("halo");
  const double exchange = ranks > 1 ? halo.at("us").at("mean").get<double>() * 1e-6 : 0;
  const double exchanges = std::max(0.0, halo.at("exchanges").get<double>() - 1);
  std::set<std::string> transports;
  for (const auto& [pair, transport] : report.at("transport").items())
    if (pair != "self") transports.insert(transport.get<std::string>());
  add_measured(figures,
               {.rate = rate,
                .sweep = report.at("seconds").at("loop").get<double>() / sweeps,
                .exchange = exchange * exchanges / sweeps,
                .reduce = report.at("phases").at("reduce").at("mean").get<double>() / sweeps,
                .exchanged = {.messages = halo.at("messages"),
                              .bytes = halo.at("bytes"),
                              .seconds = exchange,
                              .transport = fmt::format("{}", fmt::join(transports, ", ")),
                              .split = split_of(extents_of(report.at("process_grid")))},
                .is_in_order = report.at("schedule") == "sequential"});
}

// Times of smaller or larger messages than this factor tell little.
constexpr double near = 2;

/// How far apart two positive numbers are: 0 if equal, 0.7 for the half or the double.
double distance(double a, double b) { return std::abs(std::log(a / b)); }

bool are_alike(double cells, double others) {
  // star7 sweeps 192x160x128 cells, 1.9 times as many, at two thirds of the rate of 128x128x128
  // (2 ranks): caches end between them.
  constexpr double alike = 1.5;
  return distance(cells, others) <= std::log(alike) + 1e-9;
}

/// Keeps those at the least distance; returns whether that is 0.
template <class Each, class Distance>
bool keep_nearest(std::vector<Each>& all, const Distance& how_far) {
  double least = 1e300;
  for (const Each& each : all) least = std::min(least, how_far(each));
  std::erase_if(all, [&](const Each& each) { return how_far(each) > least; });
  return least == 0;
}

/// Collects in what figures are unlike a run.
class Differences {
 public:
  void add_unless(bool is_alike, Unlike unlike) {
    if (!is_alike) all_.insert(unlike);
  }
  std::vector<Unlike> all() const { return {all_.begin(), all_.end()}; }

 private:
  std::set<Unlike> all_;
};

/// Norms per sweep.
double frequency(std::int64_t norm_every) {
  return norm_every > 0 ? 1 / static_cast<double>(norm_every) : 0;
}

/// The threads that were at work at once; of a hostile file, more than an int holds.
double cores(const Figures::Rate& rate) { return static_cast<double>(rate.ranks) * rate.threads; }

double most_cores(const Figures& figures) {
  double most = 1;
  for (const Figures::Rate& rate : figures.rates) most = std::max(most, cores(rate));
  return most;
}

/// The rates nearest to a run, by their cells.
std::map<double, Figures::Rate> rates_for(const Figures& figures, const Question& question,
                                          Differences& differences) {
  std::vector<Figures::Rate> rates;
  for (const Figures::Rate& rate : figures.rates)
    if (rate.problem == question.problem && rate.precision == question.precision &&
        rate.cells_per_second > 0)
      rates.push_back(rate);
  differences.add_unless(
      keep_nearest(rates,
                   [&](const Figures::Rate& rate) {
                     const double as_here = distance(rate.ranks, question.ranks);
                     return rate.on_gpu ? std::min(as_here, distance(rate.ranks, 1)) : as_here;
                   }),
      Unlike::ranks);
  // Ranks have all cores by default, but in a benchmark over numbers of ranks fewer leave some
  // idle.
  differences.add_unless(keep_nearest(rates,
                                      [most = most_cores(figures)](const Figures::Rate& rate) {
                                        return rate.on_gpu ? 0 : distance(most, cores(rate));
                                      }),
                         Unlike::ranks);
  differences.add_unless(
      keep_nearest(rates,
                   [&](const Figures::Rate& rate) {
                     return std::abs(frequency(rate.norm_every) - frequency(question.norm_every));
                   }),
      Unlike::norm);
  std::map<double, Figures::Rate> by_cells;
  for (const Figures::Rate& rate : rates) {
    const auto [known, is_new] = by_cells.emplace(rate.cells, rate);
    if (!is_new && rate.cells_per_second > known->second.cells_per_second) known->second = rate;
  }
  return by_cells;
}

/// Cells per second for so many cells, between the rates of fewer and of more; that of the nearest
/// beyond the smallest and largest.
double rate_for(const std::map<double, Figures::Rate>& by_cells, double cells,
                Differences& differences) {
  const auto above = by_cells.lower_bound(cells);
  const Figures::Rate& more = above == by_cells.end() ? std::prev(above)->second : above->second;
  const Figures::Rate& fewer = above == by_cells.begin() ? above->second : std::prev(above)->second;
  // Between two rates that hardly differ lies no cache.
  const bool is_known = fewer.cells < cells && cells < more.cells &&
                        std::max(fewer.cells_per_second, more.cells_per_second) <
                            1.25 * std::min(fewer.cells_per_second, more.cells_per_second);
  differences.add_unless(is_known || are_alike(fewer.cells, cells) || are_alike(more.cells, cells),
                         Unlike::cells);
  if (cells <= fewer.cells || fewer.cells == more.cells) return fewer.cells_per_second;
  if (cells >= more.cells) return more.cells_per_second;
  const double share = std::log(cells / fewer.cells) / std::log(more.cells / fewer.cells);
  return fewer.cells_per_second * std::pow(more.cells_per_second / fewer.cells_per_second, share);
}

using TimesByBytes = std::map<std::int64_t, double>;

/// Seconds for so many bytes through one transport: on the line between the two sizes around them;
/// below the smallest its own, above the largest in proportion.
double seconds_for(const TimesByBytes& by_bytes, std::int64_t bytes) {
  const auto above = by_bytes.lower_bound(bytes);
  if (above == by_bytes.begin()) return above->second;
  const auto below = std::prev(above);
  if (above == by_bytes.end())
    return below->second * static_cast<double>(bytes) / static_cast<double>(below->first);
  const double share =
      static_cast<double>(bytes - below->first) / static_cast<double>(above->first - below->first);
  return below->second + share * (above->second - below->second);
}

/// The times of the exchanges nearest to those of a run, by transport.
std::map<std::string, TimesByBytes> exchanges_for(const Figures& figures, const Question& question,
                                                  Differences& differences) {
  std::vector<Figures::Exchanged> exchanges = figures.exchanges;
  const auto one_if = [](bool is_unlike) { return is_unlike ? 1.0 : 0.0; };
  differences.add_unless(
      keep_nearest(exchanges,
                   [&](const auto& each) { return one_if(!(each.split == question.split)); }),
      Unlike::split);
  differences.add_unless(
      keep_nearest(exchanges,
                   [&](const auto& each) { return one_if(each.messages != question.messages); }),
      Unlike::messages);
  differences.add_unless(
      keep_nearest(exchanges,
                   [&](const auto& each) { return distance(each.ranks, question.ranks); }),
      Unlike::ranks);
  keep_nearest(exchanges, [&](const auto& each) { return one_if(!each.between_sweeps); });
  differences.add_unless(std::any_of(exchanges.begin(), exchanges.end(),
                                     [&](const auto& least) {
                                       return static_cast<double>(least.bytes) <=
                                              near * static_cast<double>(question.bytes);
                                     }) &&
                             std::any_of(exchanges.begin(), exchanges.end(),
                                         [&](const auto& most) {
                                           return near * static_cast<double>(most.bytes) >=
                                                  static_cast<double>(question.bytes);
                                         }),
                         Unlike::messages);
  std::map<std::string, TimesByBytes> by_transport;
  for (const Figures::Exchanged& measured : exchanges) {
    const auto [known, is_new] =
        by_transport[measured.transport].emplace(measured.bytes, measured.seconds);
    if (!is_new) known->second = std::min(known->second, measured.seconds);
  }
  return by_transport;
}

/// Nothing where no exchange was measured.
std::optional<double> exchange_seconds(const Figures& figures, const Question& question,
                                       Differences& differences) {
  if (question.messages == 0) return 0;
  if (figures.exchanges.empty()) return std::nullopt;
  double least = 1e300;
  for (const auto& [transport, by_bytes] : exchanges_for(figures, question, differences))
    least = std::min(least, seconds_for(by_bytes, question.bytes));
  return least;
}

}  // namespace

Split split_of(const Extents& process_grid) {
  const int axes = process_grid.axes();
  const auto is_split = [&](int axis) {
    return axis >= 0 && axis < axes && process_grid[axis] > 1;
  };
  return {.cells = axes > 1 && is_split(0),
          .rows = axes > 2 && is_split(1),
          .planes = is_split(axes - 1)};
}

std::string_view name_of(Unlike unlike) {
  constexpr std::string_view names[] = {"ranks", "cells", "norm", "split", "messages"};
  return names[static_cast<std::size_t>(unlike)];
}

void add_figures(Figures& figures, const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error(ErrorKind::usage, fmt::format("cannot read the figures in '{}'", path));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const Json report = parse_json(text);
  try {
    if (report.contains("bench") && report["bench"] == "step") return add_steps(figures, report);
    if (report.contains("bench") && report["bench"] == "halo")
      return add_exchanges(figures, report);
    if (report.contains("glups_per_rank")) return add_solve(figures, report);
  } catch (const Json::exception& error) {
    throw Error(ErrorKind::usage,
                fmt::format("cannot parse the figures in '{}': {}", path, error.what()));
  }
  throw Error(
      ErrorKind::usage,
      fmt::format("'{}' contains no figures; give a report of halocline bench step, bench halo or "
                  "solve, written with --json",
                  path));
}

std::optional<Prediction> predict(const Figures& figures, const Question& question) {
  Differences differences;
  const std::map<double, Figures::Rate> rates = rates_for(figures, question, differences);
  const std::optional<double> exchange = exchange_seconds(figures, question, differences);
  if (rates.empty() || !exchange) return std::nullopt;
  const Figures::Rate& nearest =
      std::min_element(rates.begin(), rates.end(), [&](const auto& a, const auto& b) {
        return distance(a.first, question.cells) < distance(b.first, question.cells);
      })->second;
  return Prediction{.sweep = question.cells / rate_for(rates, question.cells, differences),
                    .exchange = *exchange,
                    .norm = nearest.seconds_of_all_reduce * frequency(question.norm_every),
                    .unlike = differences.all()};
}

}  // namespace halocline::plan
