#include "solver/solve_report.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/words.hpp"
#include "grid/text.hpp"

namespace halocline::solver {
namespace {

// A norm per sweep of a long run is more than anybody plots.
constexpr std::size_t most_norms = 10'000;

std::vector<std::int64_t> list_of(const Extents& extents) {
  std::vector<std::int64_t> list;
  for (int axis = 0; axis < extents.axes(); ++axis) list.push_back(extents[axis]);
  return list;
}

MinMeanMax triple(const Spread& spread, double scale = 1) {
  return {spread.min * scale, spread.mean * scale, spread.max * scale};
}

std::string outcome(const SolveResult& result) {
  const std::string sweeps = counted(result.sweeps, "sweep");
  if (result.norm_history.empty()) return sweeps;
  const auto& [sweep, norm] = result.norm_history.back();
  if (result.diverged) return fmt::format("{}, diverged: {} norm {}", sweeps, result.norm, norm);
  if (result.converged)
    return fmt::format("{}, converged: {} norm {:.6g} <= {:g}", sweeps, result.norm, norm,
                       *result.tolerance);
  if (result.tolerance && *result.tolerance > 0)
    return fmt::format("{}, not converged: {} norm {:.6g} > {:g}", sweeps, result.norm, norm,
                       *result.tolerance);
  return fmt::format("{}, {} norm {:.6g}", sweeps, result.norm, norm);
}

/// Thins a history to at most `most_norms` entries, the last kept.
std::vector<std::pair<std::int64_t, double>> thinned(const SolveResult& result) {
  const auto& all = result.norm_history;
  if (all.size() <= most_norms) return all;
  const std::size_t step = (all.size() + most_norms - 1) / most_norms;
  std::vector<std::pair<std::int64_t, double>> some;
  for (std::size_t i = 0; i < all.size(); i += step) some.push_back(all[i]);
  if (some.back() != all.back()) some.push_back(all.back());
  return some;
}

void add_problem(Report& report, const SolveResult& result) {
  report.add_json("problem", result.problem);
  report.add_json("cells", list_of(result.cells));
  report.add_json("precision", result.precision);
  report.add_json("norm", result.norm);
  report.add("sweeps", "result", result.sweeps, outcome(result));
  report.add_json("converged", result.converged);
  report.add_json("norm_history", thinned(result));
  report.add("sum", "sum", result.sum, Format::general(15));
  report.add("checksum", "checksum", fmt::format("{:016x}", result.checksum));
  if (result.verification) {
    report.add("verified", "verified", result.verification->passed,
               (result.verification->passed ? "" : "NO: ") + result.verification->text);
  } else {
    report.add_json("verified", nullptr);
  }
  report.add_line("");
}

void add_speed(Report& report, const SolveResult& result) {
  report.add("glups", "rate", result.glups,
             fmt::format("{}, {} per rank; {:.1f} GB/s at one read and one write per update",
                         write_number(result.glups, Format::rate("GLUP/s")),
                         write_number(result.glups / result.ranks, Format::rate("")),
                         result.gigabytes_per_second));
  report.add_json("glups_per_rank", result.glups / result.ranks);
  Section& seconds = report.add_section("seconds", "");
  seconds.add("setup", "set-up", result.setup_seconds, Format::time());
  // Not every program times it apart.
  const bool first_apart = result.first_sweep_seconds > 0 || result.sweeps == 0;
  if (first_apart)
    seconds.add("first_sweep", "first sweep", result.first_sweep_seconds, Format::time());
  else
    seconds.add_json("first_sweep", result.first_sweep_seconds);
  seconds.add("loop", first_apart ? "other sweeps" : "sweeps", result.loop_seconds, Format::time());
  if (result.baseline) {
    const std::string& schedule = result.baseline->schedule;
    Section& baseline = report.add_section("baseline", "");
    baseline.add("seconds", "one rank", result.baseline->seconds,
                 fmt::format("{}{}; speed-up {:.2f} on {}, efficiency {:.0f} %",
                             write_number(result.baseline->seconds, Format::time()),
                             schedule == result.schedule ? "" : ", schedule " + schedule,
                             result.baseline->speedup, counted(result.ranks, "rank"),
                             100 * result.baseline->efficiency));
    baseline.add_json("speedup", result.baseline->speedup);
    baseline.add_json("efficiency", result.baseline->efficiency);
    baseline.add_json("schedule", schedule);
  }
  report.add_line("");
}

/// "same-node staged (14.1 us per exchange; gpu_aware 80.3 us)".
std::string transports_text(const SolveResult& result) {
  std::string text;
  for (const auto& [pair, transport] : result.transports) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", pair, transport);
    std::string mine, others;
    for (const ExchangeInfo::Race& race : result.choice.transports) {
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

std::string backend_text(const SolveResult& result) {
  return result.simd.empty() ? result.backend : fmt::format("{} ({})", result.backend, result.simd);
}

/// "NVIDIA H200", "4 x NVIDIA H200", "NVIDIA H200 and 2 x NVIDIA A100".
std::string devices_text(const SolveResult& result) {
  std::vector<std::pair<std::string, int>> counts;
  for (const SolveDevice& device : result.devices) {
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

/// "0", "0 to 3", "0, 2, 5".
std::string ranks_text(const std::vector<int>& ranks) {
  if (ranks.size() > 2 && ranks.back() - ranks.front() + 1 == static_cast<int>(ranks.size()))
    return fmt::format("{} to {}", ranks.front(), ranks.back());
  return fmt::format("{}", fmt::join(ranks, ", "));
}

/// Which rank has which GPU; a few in the text, all in JSON.
void add_devices(Report& report, const SolveResult& result) {
  constexpr std::size_t most_shown = 8;
  Table table{.key = "devices",
              .title = "",
              .columns = {{"kind", "kind"},
                          {"name", "name"},
                          {"uuid", "uuid"},
                          {"host", "host"},
                          {"ranks", "ranks"}},
              .audience = Audience::json};
  for (const SolveDevice& device : result.devices) {
    const bool is_gpu = device.kind == "gpu";
    const auto of_gpu = [&](const std::string& text) { return is_gpu ? Value(text) : Value(); };
    table.add({device.kind, device.name, of_gpu(device.uuid), of_gpu(device.host), device.ranks});
    if (is_gpu && result.devices.size() <= most_shown)
      report.add_text("GPU",
                      fmt::format("{} on {}: rank{} {}", device.uuid, device.host,
                                  device.ranks.size() > 1 ? "s" : "", ranks_text(device.ranks)));
  }
  report.add_table(std::move(table));
}

void add_machine(Report& report, const SolveResult& result) {
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

void add_schedule(Report& report, const SolveResult& result) {
  report.add("schedule", "schedule", result.schedule,
             result.halo_depth > 1 ? fmt::format("{}, one exchange every {} sweeps",
                                                 result.schedule, result.halo_depth)
                                   : result.schedule);
  report.add_json("halo_depth", result.halo_depth);
  report.add_json("sweeps_in_graphs", result.sweeps_in_graphs);
  if (result.sweeps_in_graphs > 0)
    report.add_text("graphs", fmt::format("{} of the sweeps, timed as compute with their halos",
                                          result.sweeps_in_graphs));
}

/// How process grid, schedule and graphs were chosen, and what lost.
void add_choice(Report& report, const SolveResult& result) {
  const SolveResult::Choice& choice = result.choice;
  Section& section = report.add_section("choice", "", Audience::json);
  section.add_json("by", choice.by);
  section.add_json("seconds", choice.seconds);
  const auto is_taken = [&](const SolveResult::Choice::WayTried& way) {
    return way.process_grid == result.process_grid && way.schedule == result.schedule &&
           way.seconds_per_sweep == choice.seconds_per_sweep;
  };
  Table ways{.key = "ways",
             .title = "",
             .columns = {{"process_grid", "process grid"},
                         {"schedule", "schedule"},
                         {"in_graphs", "in graphs"},
                         {"us_per_sweep", "us per sweep"},
                         {"taken", "taken"}},
             .audience = Audience::json};
  for (const SolveResult::Choice::WayTried& way : choice.ways)
    ways.add({list_of(way.process_grid), way.schedule, way.in_graphs, way.seconds_per_sweep * 1e6,
              is_taken(way)});
  section.add_table(std::move(ways));
  Table transports{.key = "transports",
                   .title = "",
                   .columns = {{"pair", "pair"}, {"transport", "transport"}, {"us", "us"}},
                   .audience = Audience::json};
  for (const ExchangeInfo::Race& race : choice.transports)
    transports.add({race.pair, race.transport, race.microseconds});
  section.add_table(std::move(transports));

  if (choice.by == "file")
    report.add_text("chosen",
                    fmt::format("as the tuning file says, measured {}: {} per sweep", choice.when,
                                write_number(choice.seconds_per_sweep, Format::time())));
  if (choice.ways.empty()) return;
  std::string losers;
  for (const SolveResult::Choice::WayTried& way : choice.ways)
    if (!is_taken(way))
      losers += fmt::format(
          "{}{} {}{} {}", losers.empty() ? "" : ", ", grid::text_of(way.process_grid), way.schedule,
          way.in_graphs ? " in graphs" : "", write_number(way.seconds_per_sweep, Format::time()));
  report.add_text("chosen", fmt::format("by measurement in {}: {} per sweep",
                                        write_number(choice.seconds, Format::time()),
                                        write_number(choice.seconds_per_sweep, Format::time())));
  if (!losers.empty()) report.add_text("slower", losers);
}

void add_halo(Report& report, const SolveResult& result) {
  Section& halo = report.add_section("halo", "", Audience::json);
  halo.add_json("messages", result.halo_messages);
  halo.add_json("bytes", result.halo_bytes);
  halo.add_json("exchanges", result.exchanges);
  halo.add_json("us", triple(result.exchange_seconds, 1e6));
  if (result.transports.empty()) return;
  if (result.schedule == "fused") {
    report.add_text(
        "halo", fmt::format("{}, {} per rank and sweep, stored by the sweep itself",
                            counted(result.halo_messages, "message"),
                            write_number(static_cast<double>(result.halo_bytes), Format::bytes())));
    return;
  }
  report.add_text("halo",
                  fmt::format("{}, {} per rank and exchange, {} (slowest rank {})",
                              counted(result.halo_messages, "message"),
                              write_number(static_cast<double>(result.halo_bytes), Format::bytes()),
                              write_number(result.exchange_seconds.mean, Format::time()),
                              write_number(result.exchange_seconds.max, Format::time())));
}

void add_phases(Report& report, const SolveResult& result) {
  report.add_line("");
  Table table{.key = "phases",
              .title = "seconds per rank, without the first sweep",
              .columns = {{"phase", "phase"},
                          {"min", "min", Format::time()},
                          {"mean", "mean", Format::time()},
                          {"max", "max", Format::time()}},
              .shape = Table::Shape::keyed,
              .audience = Audience::json};
  Table shown = table;
  shown.key = "phases_shown";
  shown.audience = Audience::text;
  for (const auto& [phase, spread] : result.phases) {
    table.add({phase, spread.min, spread.mean, spread.max});
    if (spread.max > 0) shown.add({phase, spread.min, spread.mean, spread.max});
  }
  report.add_table(std::move(table));
  if (!shown.rows.empty()) report.add_table(std::move(shown));
}

void add_profile(Report& report, const SolveResult& result) {
  report.add_line("");
  Table table{.key = "profile",
              .title = "call sites, busiest first, over all ranks",
              .columns = {{"site", "call site"},
                          {"phase", "phase"},
                          {"calls", "calls"},
                          {"bytes", "bytes", Format::bytes()},
                          {"mean_seconds", "mean per rank", Format::time()},
                          {"max_seconds", "slowest rank", Format::time()},
                          {"longest_seconds", "longest call", Format::time()}}};
  for (const SiteProfile& site : result.profile)
    table.add({site.site, site.phase, site.calls, site.bytes, site.mean_seconds, site.max_seconds,
               site.longest_seconds});
  report.add_table(std::move(table));
}

Report titled(const SolveResult& result) {
  return Report("", fmt::format("{} {}-D, {} cells, {}", result.problem, result.cells.axes(),
                                grid::text_of(result.cells), result.precision));
}

}  // namespace

Report report_of_program(const SolveResult& result) {
  Report report = titled(result);
  add_problem(report, result);
  add_speed(report, result);
  add_machine(report, result);
  report.add("schedule", "schedule", result.schedule);
  Section& halo = report.add_section("halo", "", Audience::json);
  halo.add_json("messages", result.halo_messages);
  halo.add_json("bytes", result.halo_bytes);
  if (!result.transports.empty())
    report.add_text(
        "halo",
        fmt::format("{}, {} per rank and exchange", counted(result.halo_messages, "message"),
                    write_number(static_cast<double>(result.halo_bytes), Format::bytes())));
  if (!result.notes.empty()) report.add_line("");
  report.add_notes("notes", result.notes);
  return report;
}

Report report_of(const SolveResult& result, ProfileTable profile) {
  Report report = titled(result);
  add_problem(report, result);
  add_speed(report, result);
  add_machine(report, result);
  add_schedule(report, result);
  add_choice(report, result);
  add_halo(report, result);
  add_phases(report, result);
  if (profile == ProfileTable::yes) add_profile(report, result);
  std::vector<std::string> notes = result.notes;
  if (result.norm_history.size() > most_norms)
    notes.push_back(fmt::format("norm_history keeps {} of {} norms", thinned(result).size(),
                                result.norm_history.size()));
  if (!notes.empty()) report.add_line("");
  report.add_notes("notes", notes);
  return report;
}

}  // namespace halocline::solver
