// SPDX-License-Identifier: Apache-2.0
#include "probe/jobs.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <halocline/error.hpp>

#include "base/process/launched.hpp"
#include "launch/job.hpp"
#include "probe/end_of_job.hpp"
#include "probe/lines.hpp"
#include "proof/environment_key.hpp"

namespace halocline::probe {
namespace {

/// "no output for 20 s", "rank 1 was ended by signal 11 (Segmentation fault); its output: ...".
std::string how_it_ended(const JobEnd& end, LauncherKind launcher,
                         std::chrono::milliseconds limit) {
  if (end.how == JobEnd::How::not_started) return end.reason;
  std::string words = end_in_words(end, launcher, limit);
  const std::string complaint = complaint_in(end, line_mark);
  if (complaint.find("halocline: ") == 0) return complaint.substr(std::strlen("halocline: "));
  if (signal_in(end, launcher) == 0 && !complaint.empty()) words += "; its output: " + complaint;
  if (end.succeeded()) words = "it ended with exit code 0, but its ranks did not do their work";
  return words;
}

/// Returns whether the ranks completed all but MPI_Finalize.
bool finished(const JobEnd& end) { return read_paths(end.out).ended; }

ProbeEnd run_to_some_end(const Probes& probes, std::size_t parts, std::vector<std::string> words,
                         const Variables& with) {
  words.insert(words.begin(), examine_command);
  // Waits for other ranks time out first, naming the rank, unless the limit is too short to be
  // conclusive.
  const double limit_seconds = std::chrono::duration<double>(probes.time_limit).count();
  words.push_back("--wait-limit");
  words.push_back(fmt::format(
      "{:g}", probes.time_limit < conclusive_answer ? 2 * limit_seconds : limit_seconds / 2));
  const JobSpec job{.ranks = probes.ranks,
                    .program = probes.program,
                    .arguments = std::move(words),
                    .cores = usable_cores() * probes.nodes,
                    .ranks_per_node = probes.nodes > 1 ? probes.ranks / probes.nodes : 0,
                    .chatter = Chatter::full};
  Variables extra = job_variables(probes.launcher, job);
  for (const Variables* more : {&probes.with, &with})
    for (const auto& [name, value] : *more) extra[name] = value;
  JobOptions options;
  options.output = JobOutput::capture;
  options.time_limit = probes.time_limit * parts;
  options.silence_limit = probes.time_limit;
  options.grace = std::chrono::seconds(2);
  // Outside of ranks such variables are the user's settings, which runs get as well.
  if (launched_by(current_variables()))
    options.without = proof::launcher_internals(current_variables());
  options.without.insert(options.without.end(), probes.without.begin(), probes.without.end());
  for (std::string& name : bindings_withheld(probes.launcher, current_variables()))
    options.without.push_back(std::move(name));
  const JobEnd end = run_job(command(probes.launcher, job), extra, options);
  if (end.how == JobEnd::How::interrupted)
    throw Error(ErrorKind::communication, fmt::format("stopped by signal {} ({}) during a probe",
                                                      end.signal, strsignal(end.signal)));
  if (end.succeeded() && finished(end)) return {.job = end, .finished = true};
  const auto limit =
      end.how == JobEnd::How::timed_out ? *options.time_limit : *options.silence_limit;
  return {.job = end,
          .how = how_it_ended(end, probes.launcher.kind, limit),
          .signal = signal_in(end, probes.launcher.kind),
          .limit = probes.time_limit,
          .finished = finished(end)};
}

bool contains(const std::vector<Path>& paths, const Path& path) {
  return std::find(paths.begin(), paths.end(), path) != paths.end();
}

/// Repeats the message during which a job crashed, alone.
bool arrives_alone(const Probes& probes, const PathsToTry& wanted, const PathResult& crashed,
                   const Variables& with) {
  PathsToTry alone = wanted;
  alone.paths = {crashed.path};
  alone.bytes = {crashed.tried.back()};
  alone.timing = Timing::none;
  const ProbeEnd end = run_to_some_end(probes, 1, words_of(alone), with);
  const std::vector<PathLines::Row> rows = read_paths(end.job.out).rows;
  return rows.size() == 1 && rows[0].is_decided && rows[0].result.outcome == Outcome::works;
}

/// Returns the results of one job, for the paths that it reached.
std::vector<PathResult> results_of(const Probes& probes, const ProbeEnd& end,
                                   const PathsToTry& wanted, const Variables& with) {
  std::vector<PathResult> results;
  for (const PathLines::Row& row : read_paths(end.job.out).rows) {
    // Skips paths that were announced, but sent nothing.
    if (!contains(wanted.paths, row.result.path) || (!row.is_decided && row.result.tried.empty()))
      continue;
    PathResult result = row.result;
    result.with = with;
    if (!row.is_decided) {
      result.out_of_time = end.is_out_of_time(conclusive_answer);
      result.outcome = result.out_of_time ? Outcome::untried : Outcome::failed;
      result.signal = end.signal;
      result.exit_code = end.job.exit_code;
      const bool arrived = result.tried.back() == result.arrived_bytes;
      result.how =
          fmt::format("{}, {} {} bytes", result.out_of_time ? short_limit(probes) : end.how,
                      arrived                      ? "after"
                      : is_collective(result.path) ? "with"
                                                   : "while sending",
                      result.tried.back());
      if (result.signal != 0 && result.tried.size() > 1 && !arrived &&
          arrives_alone(probes, wanted, result, with))
        result.how += "; the same message alone arrived";
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace

std::string short_limit(const Probes& probes) {
  return fmt::format("the time limit of {:g} s was too short",
                     std::chrono::duration<double>(probes.time_limit).count());
}

std::chrono::milliseconds limit_under(double load, int threads) {
  const double processes_each = load / std::max(threads, 1);
  return std::chrono::milliseconds(
      static_cast<std::int64_t>(20'000 * std::clamp(processes_each, 1.0, 15.0)));
}

ProbeEnd run_probe(const Probes& probes, std::size_t parts, std::vector<std::string> words,
                   const Variables& with) {
  ProbeEnd end = run_to_some_end(probes, parts, std::move(words), with);
  if (!end.how.empty() && end.finished && !end.is_out_of_time(conclusive_answer) &&
      probes.on_bad_end)
    probes.on_bad_end(end.how);
  return end;
}

std::vector<PathResult> try_paths(const Probes& probes, PathsToTry wanted, const Variables& with) {
  std::vector<PathResult> all;
  while (!wanted.paths.empty()) {
    const ProbeEnd end = run_probe(probes, wanted.paths.size(), words_of(wanted), with);
    const std::vector<PathResult> now = results_of(probes, end, wanted, with);
    for (const PathResult& result : now) {
      all.push_back(result);
      std::erase(wanted.paths, result.path);
    }
    if (!now.empty()) continue;
    const bool out_of_time = end.is_out_of_time(conclusive_start);
    for (const Path& path : wanted.paths)
      all.push_back({.path = path,
                     .outcome = Outcome::untried,
                     .how = fmt::format("{} before anything was sent",
                                        out_of_time ? short_limit(probes) : end.how),
                     .with = with,
                     .out_of_time = out_of_time});
    break;
  }
  return all;
}

}  // namespace halocline::probe
