// SPDX-License-Identifier: Apache-2.0
#include "solver/solve_report.hpp"

#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text/words.hpp"
#include "grid/text.hpp"
#include "program/run_report.hpp"
#include "report/render.hpp"
#include "solver/verify.hpp"

namespace halocline::solver {
namespace {

/// Adds a section for JSON and returns it; null, and a null in JSON, where there is nothing.
Section* section_if(Report& report, const char* key, bool has_values) {
  if (has_values) return &report.add_section(key, "", Audience::json);
  report.add_json(key, nullptr);
  return nullptr;
}

MinMeanMax triple(const Spread& spread, double scale = 1) {
  return {spread.min * scale, spread.mean * scale, spread.max * scale};
}

/// " of u, v", where the problem has several fields.
std::string fields_of_norm(const SolveResult& result) {
  if (result.fields.size() < 2 || result.norm_of.empty()) return "";
  return fmt::format(" of {}", fmt::join(result.norm_of, ", "));
}

/// Returns the sum, and of a field that is not finite the first such cell.
std::string sum_text(const SolveResult& result, const SolveResult::Field& field) {
  const std::string text = program::sum_text(field.sum);
  if (std::isfinite(field.sum) || !result.not_finite || result.not_finite->field != field.name)
    return text;
  return fmt::format("{}, first at cell {}", text,
                     cell_text(result.not_finite->cell, result.cells.axes()));
}

/// Adds sums and checksums; of several fields each under its name.
void add_fields(Report& report, const SolveResult& result) {
  Table table{.key = "fields",
              .title = "",
              .columns = {{"name", "field"}, {"sum", "sum"}, {"checksum", "checksum"}},
              .shape = Table::Shape::keyed,
              .audience = Audience::json};
  for (const SolveResult::Field& field : result.fields) {
    const std::string checksum = fmt::format("{:016x}", field.checksum);
    table.add({field.name, field.sum, checksum});
    if (result.fields.size() > 1)
      report.add_text("field " + field.name,
                      fmt::format("sum {}, checksum {}", sum_text(result, field), checksum));
  }
  if (result.fields.size() == 1) {
    program::add_sum(report, result, sum_text(result, result.fields[0]));
  } else {
    report.add_json("sum", result.sum);
    report.add_json("checksum", fmt::format("{:016x}", result.checksum));
  }
  report.add_table(std::move(table));
}

void add_not_finite(Report& report, const SolveResult& result) {
  Section* const section = section_if(report, "not_finite", result.not_finite.has_value());
  if (section == nullptr) return;
  const auto& [field, cell] = *result.not_finite;
  section->add_json("field", field);
  section->add_json("cell", program::list_of(Extents(cell, result.cells.axes())));
}

/// Adds all rows to the JSON, and at most 26 of them to the text.
void add_series(Report& report, const SolveResult& result) {
  Section* const section = section_if(report, "series", result.series.has_value());
  if (section == nullptr) return;
  const SolveResult::Series& series = *result.series;
  section->add_json("every", series.every);
  section->add_json("names", series.names);
  Table rows{.key = "rows",
             .title = "",
             .columns = {{"sweep", "sweep"}},
             .shape = Table::Shape::arrays,
             .audience = Audience::json};
  Table shown{.key = "series_shown",
              .title = "",
              .columns = {{"sweep", "sweep"}},
              .audience = Audience::text};
  for (const std::string& name : series.names) {
    rows.columns.push_back({name, name});
    shown.columns.push_back({name, name, Format::general(15)});
  }
  constexpr std::size_t most_shown = 26;
  const std::size_t step = (series.rows.size() + most_shown - 2) / (most_shown - 1);
  for (std::size_t i = 0; i < series.rows.size(); ++i) {
    std::vector<Value> cells{series.rows[i].sweeps};
    for (const double value : series.rows[i].values) cells.emplace_back(value);
    if (i % step == 0 || i + 1 == series.rows.size()) shown.add(cells);
    rows.add(std::move(cells));
  }
  const std::string interval = series.every == 1 ? "sweep" : fmt::format("{} sweeps", series.every);
  shown.title = shown.rows.size() == series.rows.size()
                    ? "every " + interval
                    : fmt::format("{} of {} rows, one every {}", shown.rows.size(),
                                  series.rows.size(), interval);
  section->add_table(std::move(rows));
  report.add_line("");
  report.add_table(std::move(shown));
}

void add_verification(Report& report, const SolveResult& result) {
  if (result.verification)
    report.add("verified", "verified", result.verification->passed,
               (result.verification->passed ? "" : "NO: ") + result.verification->text);
  else
    report.add_json("verified", nullptr);
}

void add_spot_checks(Report& report, const SolveResult& result) {
  Section* const section = section_if(report, "spot_checks", result.spot_checks.has_value());
  if (section == nullptr) return;
  const auto& [sweeps, cells, wrong] = *result.spot_checks;
  section->add_json("sweeps", sweeps);
  section->add_json("cells", cells);
  section->add_json("wrong", wrong.empty() ? Value(nullptr) : Value(wrong));
  report.add_text("spot checks", wrong.empty()
                                     ? fmt::format("{} of {} recomputed, no difference",
                                                   counted(cells, "cell"), counted(sweeps, "sweep"))
                                     : "WRONG: " + wrong);
}

void add_baseline(Report& report, const SolveResult& result) {
  if (!result.baseline) return;
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

std::string passes_of(std::int64_t sweeps) {
  return sweeps > 1 ? fmt::format(" {} sweeps a pass", sweeps) : "";
}

void add_schedule(Report& report, const SolveResult& result) {
  std::string schedule = result.schedule;
  if (result.sweeps_per_pass > 1)
    schedule += "," + passes_of(result.sweeps_per_pass) + " over memory";
  const std::int64_t in_exchange =
      result.halo_depth / result.sweeps_per_pass * result.sweeps_per_pass;
  if (in_exchange > result.sweeps_per_pass)
    schedule += fmt::format(", one exchange every {} sweeps", in_exchange);
  report.add("schedule", "schedule", result.schedule, schedule);
  report.add_json("halo_depth", result.halo_depth);
  report.add_json("sweeps_per_pass", result.sweeps_per_pass);
  report.add_json("sweeps_in_passes", result.sweeps_in_passes);
  report.add_json("brick", program::list_of(result.brick));
  if (result.brick.axes() > 0)
    report.add_text("layout", fmt::format("bricks of {} cells", grid::text_of(result.brick)));
  report.add_json("sweeps_in_graphs", result.sweeps_in_graphs);
  if (result.sweeps_in_graphs > 0)
    report.add_text("graphs", fmt::format("{} of the sweeps, timed as compute with their halos",
                                          result.sweeps_in_graphs));
}

/// Adds the choice of process grid, schedule and graphs, and the slower alternatives.
void add_choice(Report& report, const SolveResult& result) {
  const SolveResult::Choice& choice = result.choice;
  Section& section = report.add_section("choice", "", Audience::json);
  section.add_json("by", choice.by);
  section.add_json("seconds", choice.seconds);
  const auto is_taken = [&](const SolveResult::Choice::Tried& execution) {
    return execution.process_grid == result.process_grid && execution.schedule == result.schedule &&
           execution.sweeps_per_pass == result.sweeps_per_pass &&
           execution.seconds_per_sweep == choice.seconds_per_sweep;
  };
  // Named where it differs from that of the choice.
  const auto other_transport = [&](const SolveResult::Choice::Tried& execution) {
    const auto taken = std::find_if(choice.tried.begin(), choice.tried.end(), is_taken);
    return taken == choice.tried.end() || taken->transport == execution.transport
               ? std::string()
               : " with " + execution.transport;
  };
  Table tried{.key = "ways",
              .title = "",
              .columns = {{"process_grid", "process grid"},
                          {"schedule", "schedule"},
                          {"transport", "transport"},
                          {"in_graphs", "in graphs"},
                          {"sweeps_per_pass", "sweeps per pass"},
                          {"us_per_sweep", "us per sweep"},
                          {"taken", "taken"}},
              .audience = Audience::json};
  for (const SolveResult::Choice::Tried& execution : choice.tried)
    tried.add({program::list_of(execution.process_grid), execution.schedule, execution.transport,
               execution.in_graphs, execution.sweeps_per_pass, execution.seconds_per_sweep * 1e6,
               is_taken(execution)});
  section.add_table(std::move(tried));
  Table transports{.key = "transports",
                   .title = "",
                   .columns = {{"pair", "pair"}, {"transport", "transport"}, {"us", "us"}},
                   .audience = Audience::json};
  for (const ExchangeInfo::Race& race : result.races)
    transports.add({race.pair, race.transport, race.microseconds});
  section.add_table(std::move(transports));

  if (choice.by == "file")
    report.add_text("chosen",
                    fmt::format("from the tuning file, measured {}: {} per sweep", choice.when,
                                write_number(choice.seconds_per_sweep, Format::time())));
  if (choice.tried.empty()) return;
  std::string losers;
  for (const SolveResult::Choice::Tried& execution : choice.tried)
    if (!is_taken(execution))
      losers += fmt::format("{}{} {}{}{}{} {}", losers.empty() ? "" : ", ",
                            grid::text_of(execution.process_grid), execution.schedule,
                            passes_of(execution.sweeps_per_pass),
                            execution.in_graphs ? " in graphs" : "", other_transport(execution),
                            write_number(execution.seconds_per_sweep, Format::time()));
  report.add_text("chosen", fmt::format("by measurement in {}: {} per sweep",
                                        write_number(choice.seconds, Format::time()),
                                        write_number(choice.seconds_per_sweep, Format::time())));
  if (!losers.empty()) report.add_text("slower", losers);
}

/// Start and end of a run, if not the problem's own.
void add_restart(Report& report, const SolveResult& result) {
  report.add_json("stopped_by",
                  result.stopped_by.empty() ? Value(nullptr) : Value(result.stopped_by));
  if (!result.stopped_by.empty()) report.add_text("stopped", "by " + result.stopped_by);
  Section* const restart = section_if(report, "restart", result.restart.has_value());
  if (restart == nullptr) return;
  restart->add_json("path", result.restart->path);
  restart->add_json("sweeps", result.restart->sweeps);
  report.add_text("restart",
                  fmt::format("from {} of '{}'", counted(result.restart->sweeps, "sweep"),
                              result.restart->path));
}

void add_checkpoints(Report& report, const SolveResult& result) {
  Section* const checkpoints = section_if(report, "checkpoints", result.checkpoints.has_value());
  if (checkpoints == nullptr) return;
  const SolveResult::Checkpoints& all = *result.checkpoints;
  checkpoints->add_json("folder", all.folder);
  checkpoints->add_json("written", all.written);
  checkpoints->add_json("last", all.last);
  checkpoints->add_json("ms", all.seconds * 1e3);
  const std::string time = write_number(all.seconds, Format::time());
  report.add_text("checkpoints",
                  all.written == 0
                      ? fmt::format("none in '{}'", all.folder)
                      : fmt::format("{} in '{}', the last after {}; they took {}", all.written,
                                    all.folder, counted(all.last, "sweep"), time));
}

void add_writing(Report& report, const SolveResult& result) {
  Section* const writing = section_if(report, "writing", result.writing.has_value());
  if (writing == nullptr) return;
  const auto& [waits_because, copies_in, bytes, seconds_waited] = *result.writing;
  const bool is_beside = waits_because.empty();
  writing->add_json("beside_sweeps", is_beside);
  writing->add_json("why_not", is_beside ? Value(nullptr) : Value(waits_because));
  writing->add_json("copies_in", is_beside ? Value(copies_in) : Value(nullptr));
  writing->add_json("copies_bytes", bytes);
  writing->add_json("waited_ms", seconds_waited * 1e3);
  const std::string waited = write_number(seconds_waited, Format::time());
  report.add_text("files", is_beside
                               ? fmt::format("during the sweeps, from {} of copies in {} memory; "
                                             "the sweeps waited {}",
                                             bytes_text(bytes), copies_in, waited)
                               : fmt::format("between the sweeps, which waited {}, because {}",
                                             waited, waits_because));
}

void add_pictures(Report& report, const SolveResult& result) {
  Table table = json_table("pictures", {"path", "field", "map", "least", "largest"});
  for (const auto& [path, field, map, least, most, text] : result.pictures) {
    table.add({path, field, map, least, most});
    report.add_text("picture", fmt::format("{}: {}", path, text));
  }
  report.add_table(std::move(table));
}

void add_halo(Report& report, const SolveResult& result) {
  Section& halo = report.add_section("halo", "", Audience::json);
  halo.add_json("messages", result.halo_messages);
  halo.add_json("bytes", result.halo_bytes);
  halo.add_json("exchanges", result.exchanges);
  if (result.sweeps_in_graphs == 0)
    halo.add_json("us", triple(result.exchange_seconds, 1e6));
  else
    halo.add_json("us", nullptr);
  if (result.transports.empty()) return;
  using HalosBySweeps = SolveResult::HalosBySweeps;
  if (result.halos_by_sweeps != HalosBySweeps::none) {
    const std::string by =
        result.halos_by_sweeps == HalosBySweeps::all
            ? ", stored by the sweep itself"
            : fmt::format(
                  "; the sweep stores those across {} within a node, an exchange the others",
                  "xyz"[result.process_grid.axes() - 1]);
    report.add_text(
        "halo", fmt::format("{}, {} per rank and sweep{}", counted(result.halo_messages, "message"),
                            bytes_text(result.halo_bytes), by));
    return;
  }
  // Launches of graphs would count as time of the few exchanges that are not in graphs.
  const std::string time =
      result.sweeps_in_graphs > 0
          ? std::string("timed with the sweeps")
          : fmt::format("{} (slowest rank {})",
                        write_number(result.exchange_seconds.mean, Format::time()),
                        write_number(result.exchange_seconds.max, Format::time()));
  report.add_text("halo", fmt::format("{}, {} per rank and exchange, {}",
                                      counted(result.halo_messages, "message"),
                                      bytes_text(result.halo_bytes), time));
}

void add_phases(Report& report, const SolveResult& result) {
  report.add_line("");
  Table table{.key = "phases",
              .title = "time per rank, without the first sweep",
              .columns = {{"phase", "phase"},
                          {"min", "min", Format::time_in("ms")},
                          {"mean", "mean", Format::time_in("ms")},
                          {"max", "max", Format::time_in("ms")}},
              .shape = Table::Shape::keyed,
              .audience = Audience::json};
  Table shown = table;
  shown.key = "phases_shown";
  shown.audience = Audience::text;
  table.columns.push_back({"ranks", ""});
  for (std::size_t p = 0; p < result.phases.size(); ++p) {
    const auto& [phase, spread] = result.phases[p];
    table.add({phase, spread.min, spread.mean, spread.max, result.phases_of_ranks[p]});
    if (spread.max > 0) shown.add({phase, spread.min, spread.mean, spread.max});
  }
  report.add_table(std::move(table));
  if (!shown.rows.empty()) report.add_table(std::move(shown));
}

/// Says so where they are slower than they could be.
void add_formulas(Report& report, const SolveResult& result) {
  if (result.formulas == "interpreted" && result.backend == "cpu")
    report.add("formulas", "formulas", result.formulas);
  else
    report.add_json("formulas", result.formulas);
}

void add_profile(Report& report, const SolveResult& result) {
  report.add_line("");
  Table table{.key = "profile",
              .title = "call sites, busiest first, over all ranks",
              .columns = {{"site", "call site"},
                          {"phase", "phase"},
                          {"calls", "calls"},
                          {"bytes", "bytes", Format::bytes()},
                          {"mean_seconds", "mean per rank", Format::time_in("ms")},
                          {"max_seconds", "slowest rank", Format::time_in("ms")},
                          {"longest_seconds", "longest call", Format::time_in("ms")}}};
  for (const SiteProfile& site : result.profile)
    table.add({site.site, site.phase, site.calls, site.bytes, site.mean_seconds, site.max_seconds,
               site.longest_seconds});
  report.add_table(std::move(table));
}

}  // namespace

Report report_of(const SolveResult& result, ProfileTable profile) {
  Report report = program::titled("solve", result);
  program::add_result(report, result, fields_of_norm(result));
  report.add_json("norm_of", result.norm_of);
  if (result.time)
    report.add("time", "time", *result.time, fmt::format("t = {:.12g}", *result.time));
  else
    report.add_json("time", nullptr);
  add_fields(report, result);
  add_not_finite(report, result);
  add_verification(report, result);
  add_spot_checks(report, result);
  add_series(report, result);
  add_restart(report, result);
  add_checkpoints(report, result);
  add_writing(report, result);
  add_pictures(report, result);
  report.add_line("");
  report.add_json("operations_per_update", result.operations_per_update);
  program::add_rate(report, result).add("total", "total", result.total_seconds, Format::time());
  add_baseline(report, result);
  report.add_line("");
  program::add_machine(report, result);
  add_formulas(report, result);
  add_schedule(report, result);
  add_choice(report, result);
  add_halo(report, result);
  add_phases(report, result);
  if (profile == ProfileTable::yes) add_profile(report, result);
  std::vector<std::string> notes = result.notes;
  const std::size_t kept = program::thinned_norms(result).size();
  if (kept < result.norm_history.size())
    notes.push_back(
        fmt::format("norm_history keeps {} of {} norms", kept, result.norm_history.size()));
  if (!notes.empty()) report.add_line("");
  report.add_notes("notes", notes);
  return report;
}

}  // namespace halocline::solver

namespace halocline {

std::string text_of(const SolveResult& result) {
  return render_text(solver::report_of(result, solver::ProfileTable::no));
}

std::string json_of(const SolveResult& result) {
  return render_json(solver::report_of(result, solver::ProfileTable::no));
}

void write_report(const Communicator& communicator, const SolveResult& result,
                  const ReportFiles& files) {
  program::write_report(communicator, solver::report_of(result, solver::ProfileTable::no), files);
}

}  // namespace halocline
