// SPDX-License-Identifier: Apache-2.0
#include "program/run_report.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <halocline/error.hpp>
#include <halocline/precision.hpp>

#include "base/files/temporary_file.hpp"
#include "base/text/words.hpp"
#include "comm/collectives.hpp"
#include "grid/text.hpp"
#include "report/render.hpp"

namespace halocline::program {
namespace {

constexpr std::size_t most_norms = 10'000;

std::string outcome(const RunResult& result, const std::string& norm_of) {
  const std::string sweeps = counted(result.sweeps, "sweep"),
                    the_norm = fmt::format("{} norm{}", result.norm, norm_of);
  if (result.norm_history.empty()) return sweeps;
  const auto& [sweep, norm] = result.norm_history.back();
  if (result.diverged) return fmt::format("{}, diverged: {} {}", sweeps, the_norm, norm);
  if (result.converged)
    return fmt::format("{}, converged: {} {:.6g} <= {:g}", sweeps, the_norm, norm,
                       *result.tolerance);
  // A run whose formulas depend on time does not end with a norm of 0.
  if (result.tolerance && norm > *result.tolerance && *result.tolerance > 0)
    return fmt::format("{}, not converged: {} {:.6g} > {:g}", sweeps, the_norm, norm,
                       *result.tolerance);
  return fmt::format("{}, {} {:.6g}", sweeps, the_norm, norm);
}

/// "same-node staged (14.1 us per exchange; gpu_aware 80.3 us)".
std::string transports_text(const RunResult& result) {
  std::string text;
  for (const auto& [pair, transport] : result.transports) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", pair, transport);
    std::string mine, others;
    for (const ExchangeInfo::Race& race : result.races) {
      if (race.pair != pair) continue;
      const std::string time = write_number(race.microseconds * 1e-6, Format::time());
      if (race.transport == transport)
        mine = fmt::format("{} per exchange", time);
      else
        others += fmt::format("; {} {}", race.transport, time);
    }
    if (!others.empty()) text += fmt::format(" ({}{})", mine, others);
  }
  return text.empty() ? "none needed" : text;
}

std::string backend_text(const RunResult& result) {
  return result.simd.empty() ? result.backend : fmt::format("{} ({})", result.backend, result.simd);
}

/// "NVIDIA H200", "4 x NVIDIA H200", "NVIDIA H200 and 2 x NVIDIA A100".
std::string devices_text(const RunResult& result) {
  std::vector<std::pair<std::string, int>> counts;
  for (const RunDevice& device : result.devices) {
    auto known = std::find_if(counts.begin(), counts.end(),
                              [&](const auto& entry) { return entry.first == device.name; });
    if (known == counts.end()) known = counts.insert(counts.end(), {device.name, 0});
    ++known->second;
  }
  std::string text;
  for (const auto& [name, count] : counts)
    text += fmt::format("{}{}{}", text.empty() ? "" : " and ",
                        count > 1 ? fmt::format("{} x ", count) : std::string(), name);
  return text;
}

/// "one read and one write", "20 bytes".
std::string traffic_text(const RunResult& result) {
  const std::int64_t both = 2 * (result.precision == name_of(Precision::f32) ? 4 : 8);
  return result.bytes_per_update == both ? std::string("one read and one write")
                                         : counted(result.bytes_per_update, "byte");
}

/// "0", "0 to 3", "0, 2, 5".
std::string ranks_text(const std::vector<int>& ranks) {
  if (ranks.size() > 2 && ranks.back() - ranks.front() + 1 == static_cast<int>(ranks.size()))
    return fmt::format("{} to {}", ranks.front(), ranks.back());
  return fmt::format("{}", fmt::join(ranks, ", "));
}

/// The GPU of each rank: a few in the text, all in JSON.
void add_devices(Report& report, const RunResult& result) {
  constexpr std::size_t most_shown = 8;
  for (const RunDevice& device : result.devices)
    if (device.kind == "gpu" && result.devices.size() <= most_shown)
      report.add_text("GPU",
                      fmt::format("{} on {}: rank{} {}", device.uuid, device.host,
                                  device.ranks.size() > 1 ? "s" : "", ranks_text(device.ranks)));
  report.add_table(devices_table(result.devices));
}

void write(const std::string& path, const std::string& text) {
  if (path != "-") return write_text_file(path, text);
  if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0)
    throw Error(ErrorKind::resource,
                fmt::format("cannot write to standard output: {}", std::strerror(errno)));
}

}  // namespace

Table devices_table(const std::vector<RunDevice>& devices) {
  Table table{.key = "devices",
              .title = "",
              .columns = {{"kind", "kind"},
                          {"name", "name"},
                          {"uuid", "uuid"},
                          {"host", "host"},
                          {"ranks", "ranks"}},
              .audience = Audience::json};
  for (const RunDevice& device : devices) {
    const bool is_gpu = device.kind == "gpu";
    const auto of_gpu = [&](const std::string& text) { return is_gpu ? Value(text) : Value(); };
    table.add({device.kind, device.name, of_gpu(device.uuid), of_gpu(device.host), device.ranks});
  }
  return table;
}

std::vector<std::int64_t> list_of(const Extents& extents) {
  std::vector<std::int64_t> list;
  for (int axis = 0; axis < extents.axes(); ++axis) list.push_back(extents[axis]);
  return list;
}

std::vector<std::pair<std::int64_t, double>> thinned_norms(const RunResult& result) {
  const auto& all = result.norm_history;
  if (all.size() <= most_norms) return all;
  const std::size_t step = (all.size() + most_norms - 1) / most_norms;
  std::vector<std::pair<std::int64_t, double>> some;
  for (std::size_t i = 0; i < all.size(); i += step) some.push_back(all[i]);
  if (some.back() != all.back()) some.push_back(all.back());
  return some;
}

Report titled(const std::string& kind, const RunResult& result) {
  return Report(kind, fmt::format("{} {}-D, {}, {}", result.problem, result.cells.axes(),
                                  grid::cells_text(result.cells), result.precision));
}

void add_result(Report& report, const RunResult& result, const std::string& norm_of) {
  report.add_json("problem", result.problem);
  report.add_json("cells", list_of(result.cells));
  report.add_json("precision", result.precision);
  report.add_json("norm", result.norm);
  report.add("sweeps", "result", result.sweeps, outcome(result, norm_of));
  report.add_json("converged", result.converged);
  report.add_json("norm_history", thinned_norms(result));
}

void add_sum(Report& report, const RunResult& result, const std::string& words) {
  report.add("sum", "sum", result.sum, words);
  report.add("checksum", "checksum", fmt::format("{:016x}", result.checksum));
}

std::string sum_text(double sum) {
  return std::isfinite(sum) ? fmt::format("{:.15g}", sum) : std::string("not finite");
}

Section& add_rate(Report& report, const RunResult& result) {
  report.add("glups", "rate", result.glups,
             fmt::format("{}, {} per rank; {:.1f} GB/s at {} per update",
                         write_number(result.glups, Format::rate("GLUP/s")),
                         write_number(result.glups / result.ranks, Format::rate("")),
                         result.glups * static_cast<double>(result.bytes_per_update),
                         traffic_text(result)));
  report.add_json("glups_per_rank", result.glups / result.ranks);
  report.add_json("bytes_per_update", result.bytes_per_update);
  Section& seconds = report.add_section("seconds", "");
  seconds.add("setup", "set-up", result.setup_seconds, Format::time());
  if (result.compile_seconds > 0)
    seconds.add("compile", "compilation", result.compile_seconds, Format::time());
  // Not every program times it separately.
  const bool first_apart = result.first_sweep_seconds > 0 || result.sweeps == 0;
  if (first_apart)
    seconds.add("first_sweep", "first sweep", result.first_sweep_seconds, Format::time());
  else
    seconds.add_json("first_sweep", result.first_sweep_seconds);
  seconds.add("loop", first_apart ? "other sweeps" : "sweeps", result.loop_seconds, Format::time());
  return seconds;
}

void add_machine(Report& report, const RunResult& result) {
  report.add(
      "ranks", "ranks", result.ranks,
      fmt::format("{} on {}, process grid {}, {} each", result.ranks, counted(result.nodes, "node"),
                  grid::text_of(result.process_grid), counted(result.threads, "thread")));
  report.add_json("nodes", result.nodes);
  report.add_json("process_grid", list_of(result.process_grid));
  report.add_json("threads_per_rank", result.threads);
  report.add("backend", "backend", result.backend,
             fmt::format("{} on {}, {} memory", backend_text(result), devices_text(result),
                         result.memory));
  report.add_json("memory", result.memory);
  if (result.simd.empty())
    report.add_json("simd", nullptr);
  else
    report.add_json("simd", result.simd);
  add_devices(report, result);
  report.add("mpi", "MPI", result.mpi);
  Section& transport = report.add_section("transport", "", Audience::json);
  for (const auto& [pair, name] : result.transports) transport.add_json(pair, name);
  report.add_text("transport", transports_text(result));
}

void write_report(const Communicator& communicator, const Report& report,
                  const ReportFiles& files) {
  comm::on_first_rank(communicator, [&] {
    if (files.text) write(*files.text, render_text(report));
    if (files.json) write(*files.json, render_json(report));
  });
}

}  // namespace halocline::program
