// SPDX-License-Identifier: Apache-2.0
#include "plan/figures.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/json_text.hpp"

namespace halocline::plan {
namespace {

using Json = nlohmann::json;

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

void add_steps(Figures& figures, const Json& report) {
  for (const Json& of : report.at("cases"))
    if (of.at("ranks") == 1)
      figures.rates.push_back({.problem = report.at("problem"),
                               .precision = of.at("precision"),
                               .cells = product(of.at("cells")),
                               .cells_per_second = of.at("glups").get<double>() * 1e9,
                               .where = where_of(report)});
}

void add_exchanges(Figures& figures, const Json& report) {
  for (const Json& of : report.at("cases"))
    if (of.at("bytes") > 0)
      figures.exchanges.push_back({.messages = of.at("messages"),
                                   .bytes = of.at("bytes"),
                                   .seconds = of.at("median_us").get<double>() * 1e-6,
                                   .transport = of.at("transport")});
}

/// One solve, of one rank or more: what each rank updated.
void add_solve(Figures& figures, const Json& report) {
  const double ranks = report.at("ranks");
  figures.rates.push_back({.problem = report.at("problem"),
                           .precision = report.at("precision"),
                           .cells = product(report.at("cells")) / ranks,
                           .cells_per_second = report.at("glups_per_rank").get<double>() * 1e9,
                           .where = where_of(report)});
}

/// Seconds for so many bytes through one transport: on the line between the two sizes around them;
/// below the smallest its own, above the largest in proportion.
double seconds_for(const std::map<std::int64_t, double>& by_bytes, std::int64_t bytes) {
  const auto above = by_bytes.lower_bound(bytes);
  if (above == by_bytes.begin()) return above->second;
  const auto below = std::prev(above);
  if (above == by_bytes.end())
    return below->second * static_cast<double>(bytes) / static_cast<double>(below->first);
  const double share =
      static_cast<double>(bytes - below->first) / static_cast<double>(above->first - below->first);
  return below->second + share * (above->second - below->second);
}

std::optional<double> exchange_seconds(const Figures& figures, std::int64_t messages,
                                       std::int64_t bytes) {
  if (messages == 0) return 0;
  // By transport; those with as many messages, or all where none had.
  const bool some_alike =
      std::any_of(figures.exchanges.begin(), figures.exchanges.end(),
                  [&](const auto& measured) { return measured.messages == messages; });
  std::map<std::string, std::map<std::int64_t, double>> by_transport;
  for (const Figures::Exchanged& measured : figures.exchanges)
    if (!some_alike || measured.messages == messages) {
      const auto [known, is_new] =
          by_transport[measured.transport].emplace(measured.bytes, measured.seconds);
      if (!is_new) known->second = std::min(known->second, measured.seconds);
    }
  std::optional<double> least;
  for (const auto& [transport, by_bytes] : by_transport)
    least = std::min(least.value_or(1e300), seconds_for(by_bytes, bytes));
  return least;
}

}  // namespace

void add_figures(Figures& figures, const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error(ErrorKind::usage, fmt::format("cannot read the figures in '{}'", path));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const Json report(parse_json(text));
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

std::optional<Prediction> predict(const Figures& figures, const std::string& problem,
                                  const std::string& precision, double cells_of_rank,
                                  std::int64_t messages, std::int64_t bytes) {
  const Figures::Rate* nearest = nullptr;
  const auto distance = [&](const Figures::Rate& rate) {
    return std::abs(std::log(rate.cells / cells_of_rank));
  };
  for (const Figures::Rate& rate : figures.rates)
    if (rate.problem == problem && rate.precision == precision && rate.cells_per_second > 0 &&
        (nearest == nullptr || distance(rate) < distance(*nearest)))
      nearest = &rate;
  const std::optional<double> exchange = exchange_seconds(figures, messages, bytes);
  if (nearest == nullptr || !exchange) return std::nullopt;
  return Prediction{cells_of_rank / nearest->cells_per_second, *exchange};
}

}  // namespace halocline::plan
