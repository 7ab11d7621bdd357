// SPDX-License-Identifier: Apache-2.0
#include "doctor/report.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "text/utc.hpp"

namespace halocline::doctor {
namespace {

/// "vm: 2 cores, 2 x NVIDIA H200, Open MPI 4.1.6".
std::string title(const Facts& facts) {
  const auto* gpus = gpus_of(facts);
  const std::string gpu_words = gpus == nullptr
                                    ? (facts.node.gpu_files == 0 ? "no GPU" : "no usable GPU")
                                    : fmt::format("{} x {}", gpus->size(), gpus->front().gpu.name);
  const int cores = facts.node.usable_cores;
  const std::size_t others = std::max<std::size_t>(1, facts.ranks.nodes.size()) - 1;
  const std::string more =
      others == 0 ? "" : fmt::format(" and {} node{} more", others, others == 1 ? "" : "s");
  return fmt::format("{}{}: {} core{}, {}, {}", facts.node.host, more, cores, cores == 1 ? "" : "s",
                     gpu_words, facts.node.mpi);
}

/// Adds a block of text after a blank line.
Section& add_block(Report& report) {
  Section& section = report.add_section("", "");
  section.add_line("");
  return section;
}

bool all_work(const Diagnosis& diagnosis) {
  const Evidence& evidence = diagnosis.evidence;
  const auto work = [](const PathResult& result) {
    return result.outcome == Outcome::works || !is_expected(result);
  };
  return !evidence.paths.empty() &&
         std::all_of(evidence.paths.begin(), evidence.paths.end(), work) &&
         std::all_of(evidence.collectives.begin(), evidence.collectives.end(), work);
}

void add_findings(Report& report, const Diagnosis& diagnosis) {
  Section& section = report.add_section("", "");
  const auto& found = diagnosis.found;
  const bool notes_only = std::all_of(found.begin(), found.end(), [](const Finding& finding) {
    return finding.severity == Severity::note;
  });
  if (notes_only) section.add_line(all_work(diagnosis) ? "all paths work" : "no problems found");
  if (notes_only && !found.empty()) section.add_line("");
  for (const Finding& finding : found) {
    if (&finding != &found.front()) section.add_line("");
    section.add_text(
        finding.severity == Severity::broken ? "BROKEN" : std::string(name_of(finding.severity)),
        finding.what);
    section.add_text(" ", "seen: " + finding.seen);
    if (!finding.fix.empty()) section.add_text(" ", "do: " + finding.fix);
  }
  Table& table = section.add_table(json_table("findings", {"severity", "what", "seen", "do"}));
  for (const Finding& finding : found)
    table.add({name_of(finding.severity), finding.what, finding.seen, finding.fix});
}

std::string pair_text(const Evidence& evidence, const PathResult& result) {
  if (result.path.distance == Distance::other_node)
    return std::string(proof::name_of(proof::GpuPair::other_node));
  if (result.path.memory == Memory::host || !evidence.gpu_pair) return "same-node";
  return std::string(proof::name_of(*evidence.gpu_pair));
}

Value gigabytes_per_second(const PathResult& result, std::int64_t bytes) {
  const std::optional<double> us = us_for(result, bytes);
  return us ? Value(static_cast<double>(bytes) / *us / 1e3) : Value();
}

/// Returns whether the text table shows a result: it was timed, or should have been.
bool is_shown(const PathResult& result) {
  const bool works = result.outcome == Outcome::works;
  const bool is_ordinary = result.path.allocator == device::Allocator::ordinary;
  // Settings that did not help.
  if (!works && !result.with.empty() && is_ordinary && !is_collective(result.path)) return false;
  // Kernels see no difference; MPI may.
  if (works && !is_ordinary && result.path.transport != "gpu_aware") return false;
  return (!works || !result.times.empty()) && !is_for_few(result);
}

/// The text shows collectives if any used GPU memory or failed.
bool shows_collectives(const Evidence& evidence) {
  return std::any_of(
      evidence.collectives.begin(), evidence.collectives.end(), [](const PathResult& result) {
        return result.path.memory != Memory::host || result.outcome != Outcome::works;
      });
}

struct TableOfResults {
  std::string label, title;
  const std::vector<PathResult>& results;
};

void add_results(Report& report, const Evidence& evidence, const TableOfResults& wanted) {
  if (std::none_of(wanted.results.begin(), wanted.results.end(), is_shown)) return;
  const Format rate = Format::rate("", 3);
  Section& section = add_block(report);
  Table& table = section.add_table({.key = {},
                                    .title = wanted.title,
                                    .columns = {{"path", wanted.label, {}},
                                                {"memory", "memory", {}},
                                                {"pair", "pair", {}},
                                                {"8", "8 B", Format::time_in("us", 1e-6)},
                                                {"65536", "64 KiB", rate},
                                                {"1048576", "1 MiB", rate},
                                                {"16777216", "16 MiB", rate},
                                                {"outcome", "", {}}},
                                    .audience = Audience::text});
  std::string with;
  for (const PathResult& result : wanted.results) {
    if (!is_shown(result)) continue;
    if (!result.with.empty()) with = settings_text(result.with);
    table.add({result.path.transport + (result.with.empty() ? "" : " +"), memory_of(result.path),
               pair_text(evidence, result), us_for(result, 8),
               gigabytes_per_second(result, 64 << 10), gigabytes_per_second(result, 1 << 20),
               gigabytes_per_second(result, 16 << 20), name_of(result.outcome)});
  }
  if (!with.empty()) section.add_line(fmt::format("+ with {}", with));
}

/// Lists why transports over libraries are not available, and what would make them available.
void add_missing_libraries(Report& report, const Evidence& evidence) {
  std::vector<std::string> seen;
  for (const PathResult& result : evidence.paths) {
    if (library_of(result.path) == nullptr || result.outcome != Outcome::unavailable) continue;
    const std::string line = fmt::format("{}: {}", result.path.transport, result.how);
    if (std::find(seen.begin(), seen.end(), line) != seen.end()) continue;
    report.add_section("", "").add_line(line);
    seen.push_back(line);
  }
}

void add_paths(Report& report, const Evidence& evidence) {
  add_results(
      report, evidence,
      {.label = "path",
       .title = "one message each way at once: time for 8 bytes, GB/s each way for larger ones",
       .results = evidence.paths});
  add_missing_libraries(report, evidence);
  if (!shows_collectives(evidence)) return;
  add_results(report, evidence,
              {.label = "collective",
               .title = fmt::format(
                   "collectives of {} ranks: time for 8 bytes, GB/s of the data of each rank",
                   evidence.ranks),
               .results = evidence.collectives});
}

void add_results_for_programs(Report& report, const Evidence& evidence, const std::string& key,
                              const std::vector<PathResult>& results) {
  Table& table = report.add_table(json_table(
      key, {"path", "memory", "pair", "with", "outcome", "how", "in_order_up_to", "us"}));
  for (const PathResult& result : results) {
    Value::List times;
    for (const probe::Time& time : result.times) times.push_back(std::pair(time.bytes, time.us));
    table.add({result.path.transport, memory_of(result.path), pair_text(evidence, result),
               settings_text(result.with), name_of(result.outcome), result.how,
               result.in_order_up_to, times});
  }
}

/// Returns the best latency and rate among the links of a node; nothing without links.
std::optional<Link> best_link(const ProbeFacts& ranks, int node) {
  std::optional<Link> best;
  for (const Link& link : ranks.links) {
    if (link.from != node && link.to != node) continue;
    if (!best) best = link;
    best->us = std::min(best->us, link.us);
    best->gb_per_s = std::max(best->gb_per_s, link.gb_per_s);
  }
  return best;
}

/// "4 x NVIDIA H200".
std::string gpus_text(const NodeSeen& node) {
  if (node.gpus.empty()) return "none";
  return fmt::format("{} x {}", node.gpus.size(), node.gpus.front());
}

/// Adds a text table of nodes, with the rate of the slowest GPU of each.
void add_nodes(Report& report, const Evidence& evidence) {
  const ProbeFacts& ranks = evidence.facts.ranks;
  if (ranks.nodes.size() < 2) return;
  constexpr std::size_t most_rows = 32;
  const Format rate = Format::rate("", 3);
  Section& section = add_block(report);
  const bool have_gpus = std::any_of(ranks.nodes.begin(), ranks.nodes.end(),
                                     [](const NodeSeen& node) { return !node.gpus.empty(); });
  std::vector<Column> columns{{"host", "node", {}}, {"copies", "host copies", rate}};
  if (have_gpus)
    columns.insert(columns.end(), {{"gpus", "GPUs", {}}, {"gpu_copies", "GPU copies", rate}});
  columns.insert(columns.end(),
                 {{"us", "8 B", Format::time_in("us", 1e-6)}, {"gb_per_s", "1 MiB", rate}});
  Table& table = section.add_table(
      {.key = {},
       .title = "nodes: GB/s of copies, and of 1 MiB messages with the best other node",
       .columns = columns,
       .audience = Audience::text});
  for (const NodeSeen& node : ranks.nodes) {
    if (&node - ranks.nodes.data() == most_rows) break;
    double gpu = 0;
    for (const GpuSpeed& speed : node.speeds)
      gpu = gpu == 0 ? speed.copy_gb_per_s : std::min(gpu, speed.copy_gb_per_s);
    const std::optional<Link> link = best_link(ranks, node.node);
    std::vector<Value> cells{node.host, node.memory_gb_per_s};
    if (have_gpus) cells.insert(cells.end(), {gpus_text(node), gpu > 0 ? Value(gpu) : Value()});
    cells.push_back(link ? Value(link->us) : Value());
    cells.push_back(link ? Value(link->gb_per_s) : Value());
    table.add(std::move(cells));
  }
  if (ranks.nodes.size() > most_rows)
    section.add_line(
        fmt::format("and {} more: --json FILE lists all", ranks.nodes.size() - most_rows));
}

void add_speeds_for_programs(Report& report, const ProbeFacts& ranks) {
  Table& speeds =
      report.add_table(json_table("speeds", {"host", "gpu", "copy_gb_per_s", "host_gb_per_s"}));
  for (const NodeSeen& node : ranks.nodes) {
    if (node.memory_gb_per_s > 0) speeds.add({node.host, Value(), node.memory_gb_per_s, Value()});
    for (const GpuSpeed& gpu : node.speeds)
      speeds.add({node.host, gpu.ordinal, gpu.copy_gb_per_s, gpu.host_gb_per_s});
  }
  const auto host = [&](int node) {
    for (const NodeSeen& one : ranks.nodes)
      if (one.node == node) return one.host;
    return std::string();
  };
  Table& links = report.add_table(json_table("links", {"from", "to", "us", "gb_per_s"}));
  for (const Link& link : ranks.links)
    links.add({host(link.from), host(link.to), link.us, link.gb_per_s});
}

/// Adds the transports that runs use by default to the JSON; returns them in words.
std::string add_taken(Report& report, const Evidence& evidence, Distance distance) {
  Section& section = report.add_section(
      distance == Distance::same_node ? "taken" : "taken_between_nodes", "", Audience::json);
  std::string words;
  for (const Memory memory : {Memory::host, Memory::device}) {
    const std::optional<std::string> transport = taken_for(evidence, memory, distance);
    section.add_json(std::string(halocline::name_of(memory)), transport);
    if (transport)
      words += fmt::format("{}{} for {} memory", words.empty() ? "" : ", ", *transport,
                           halocline::name_of(memory));
  }
  return words;
}

/// Returns "cores 0 | 1" for the first ranks, or "cores 0-1 each".
std::string cores_text(const ProbeFacts& ranks) {
  constexpr std::size_t most = 8;
  std::vector<std::string> cores;
  for (const RankSeen& rank : ranks.ranks) cores.push_back(rank.cores);
  if (cores.empty()) return "";
  if (std::all_of(cores.begin(), cores.end(), [&](const auto& one) { return one == cores[0]; }))
    return fmt::format("cores {}{}", cores[0], cores.size() > 1 ? " each" : "");
  const bool all = cores.size() <= most;
  cores.resize(std::min(cores.size(), most));
  return fmt::format("cores {}{}", fmt::join(cores, " | "), all ? "" : " | ...");
}

void add_start(Report& report, const Diagnosis& diagnosis, const ReportOptions& options) {
  Section& section = add_block(report);
  const auto add = [&](const char* label, const std::string& words) {
    if (!words.empty()) section.add_text(label, words);
  };
  add("a run uses", add_taken(report, diagnosis.evidence, Distance::same_node));
  add("between nodes", add_taken(report, diagnosis.evidence, Distance::other_node));
  add("ranks ran on", cores_text(diagnosis.evidence.facts.ranks));
  const std::string line = launch_line(diagnosis.start);
  const char* label = "start with";
  for (const std::string& part : in_lines(line)) section.add_text(std::exchange(label, " "), part);
  report.add_json("launch", line);
  const std::string stop = stop_line(diagnosis.start);
  section.add_text("stop with", stop + ": a run with --checkpoint saves its state and ends");
  report.add_json("stop", stop);
  if (!options.batch) return report.add_json("batch", nullptr), void();
  const std::string script = batch_script(diagnosis.start, *options.batch);
  report.add_json("batch", script);
  section.add_line("");
  section.add_line("batch script:");
  std::istringstream lines(script);
  for (std::string each; std::getline(lines, each);) section.add_line(each);
}

void add_changes(Report& report, const ReportOptions& options) {
  if (!options.compared_with) return report.add_json("changes", nullptr), void();
  Section& section = add_block(report);
  section.add_line(options.changes.empty()
                       ? fmt::format("nothing has changed since {}", *options.compared_with)
                       : fmt::format("changed since {}:", *options.compared_with));
  for (const Change& change : options.changes)
    section.add_line(
        fmt::format("  {}: {} -> {}", words_for_change(change.what), change.before, change.now));
  Table& table = report.add_table(json_table("changes", {"what", "before", "now"}));
  for (const Change& change : options.changes) table.add({change.what, change.before, change.now});
}

}  // namespace

Report report_of(const Diagnosis& diagnosis, const ReportOptions& options) {
  const Evidence& evidence = diagnosis.evidence;
  Report report("doctor", title(evidence.facts));
  report.add_json("when", now_in_utc())
      .add_json("host", evidence.facts.node.host)
      .add_json("mpi", evidence.facts.node.mpi)
      .add_json("ranks", evidence.ranks)
      .add_json("nodes", std::max<std::size_t>(1, evidence.facts.ranks.nodes.size()))
      .add_json("load", evidence.facts.node.load)
      .add_json("seconds", diagnosis.seconds);
  report.add_line("");
  add_findings(report, diagnosis);
  add_nodes(report, evidence);
  add_speeds_for_programs(report, evidence.facts.ranks);
  add_paths(report, evidence);
  add_results_for_programs(report, evidence, "paths", evidence.paths);
  add_results_for_programs(report, evidence, "collectives", evidence.collectives);
  add_start(report, diagnosis, options);
  add_changes(report, options);
  add_facts(report, evidence, options.facts);
  return report;
}

}  // namespace halocline::doctor
