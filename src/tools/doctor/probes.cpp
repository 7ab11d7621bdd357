// SPDX-License-Identifier: Apache-2.0
#include "doctor/probes.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <halocline/error.hpp>

#include "doctor/said.hpp"
#include "launch/job.hpp"
#include "probe/end_of_job.hpp"
#include "proof/environment_key.hpp"

namespace halocline::doctor {
namespace {

/// How a probe's job ended, in words too if it did badly.
struct ProbeEnd {
  JobEnd job;
  std::string how = {};
  std::chrono::milliseconds limit{};  ///< by which it ended, if it did

  bool ended_by_limit() const {
    return job.how == JobEnd::How::timed_out || job.how == JobEnd::How::fell_silent;
  }
  /// Ended by a limit under which sound ranks end too.
  bool is_out_of_time(std::chrono::milliseconds telling) const {
    return ended_by_limit() && limit < telling;
  }
};

std::string short_limit(const Probes& probes) {
  return fmt::format("the time limit of {:g} s was too short",
                     std::chrono::duration<double>(probes.time_limit).count());
}

/// "no output for 20 s", "rank 1 was ended by signal 11 (Segmentation fault); its output: ...".
std::string how_it_ended(const JobEnd& end, LauncherKind launcher,
                         std::chrono::milliseconds limit) {
  if (end.how == JobEnd::How::not_started) return end.reason;
  std::string words = proof::end_in_words(end, launcher, limit);
  const std::string said = proof::complaint_in(end, said_mark);
  if (said.find("halocline: ") == 0) return said.substr(std::strlen("halocline: "));
  if (words.find("signal") == std::string::npos && !said.empty()) words += "; its output: " + said;
  if (end.succeeded()) words = "it ended with exit code 0, but its ranks did not do their work";
  return words;
}

/// What is left then is MPI_Finalize.
bool said_all(const JobEnd& end) { return read_paths(end.out).ended; }

/// A job of several parts may take its time as long as it says what it is at.
ProbeEnd run_probe(const Probes& probes, std::size_t parts, std::vector<std::string> words,
                   const Variables& with) {
  words.insert(words.begin(), examine_command);
  // Waits for other ranks end first, by name, unless the limit is too short to tell a slow one.
  const double limit_seconds = std::chrono::duration<double>(probes.time_limit).count();
  words.push_back("--wait-limit");
  words.push_back(fmt::format(
      "{:g}", probes.time_limit < telling_answer ? 2 * limit_seconds : limit_seconds / 2));
  const JobSpec job{.ranks = probes.ranks,
                    .program = probes.program,
                    .arguments = std::move(words),
                    .cores = usable_cores() * probes.nodes,
                    .ranks_per_node = probes.nodes > 1 ? probes.ranks / probes.nodes : 0,
                    .chatter = Chatter::full};
  Variables extra = job_variables(probes.launcher, job);
  for (const auto& [name, value] : with) extra[name] = value;
  JobOptions options;
  options.output = JobOutput::capture;
  options.time_limit = probes.time_limit * parts;
  options.silence_limit = probes.time_limit;
  options.grace = std::chrono::seconds(2);
  options.without = proof::launcher_internals(current_variables());
  options.without.insert(options.without.end(), probes.without.begin(), probes.without.end());
  JobEnd end = run_job(command(probes.launcher, job), extra, options);
  if (end.how == JobEnd::How::interrupted)
    throw Error(ErrorKind::communication, fmt::format("stopped by signal {} ({}) during a probe",
                                                      end.signal, strsignal(end.signal)));
  if (end.succeeded() && said_all(end)) return {std::move(end)};
  const auto limit =
      end.how == JobEnd::How::timed_out ? *options.time_limit : *options.silence_limit;
  std::string how = how_it_ended(end, probes.launcher.kind, limit);
  return {std::move(end), std::move(how), probes.time_limit};
}

/// The same job, and a word of an end that is no fault of what it tried.
ProbeEnd run_probe_to_its_end(const Probes& probes, std::size_t parts,
                              std::vector<std::string> words, const Variables& with) {
  ProbeEnd end = run_probe(probes, parts, std::move(words), with);
  if (!end.how.empty() && said_all(end.job) && !end.is_out_of_time(telling_answer) &&
      probes.on_bad_end)
    probes.on_bad_end(end.how);
  return end;
}

bool contains(const std::vector<Path>& paths, const Path& path) {
  return std::find(paths.begin(), paths.end(), path) != paths.end();
}

/// The results of one job, for the paths that it got to.
std::vector<PathResult> results_of(const Probes& probes, const ProbeEnd& end,
                                   const std::vector<Path>& wanted) {
  std::vector<PathResult> results;
  for (const PathsSaid::Row& row : read_paths(end.job.out).rows) {
    if (!contains(wanted, row.result.path)) continue;
    PathResult result = row.result;
    if (!row.is_decided) {
      result.out_of_time = end.is_out_of_time(telling_answer);
      result.outcome = result.out_of_time ? Outcome::untried : Outcome::failed;
      result.how =
          fmt::format("{}, {} {} bytes", result.out_of_time ? short_limit(probes) : end.how,
                      is_collective(result.path) ? "with" : "while sending", result.tried_bytes);
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace

std::chrono::milliseconds limit_under(double load, int threads) {
  const double processes_each = load / std::max(threads, 1);
  return std::chrono::milliseconds(
      static_cast<std::int64_t>(20'000 * std::clamp(processes_each, 1.0, 15.0)));
}

RankFacts ask_ranks(const Probes& probes) {
  // MPI's start, facts, libraries, speeds.
  constexpr std::size_t parts = 4;
  const ProbeEnd end = run_probe_to_its_end(probes, parts, {"--facts"}, {});
  RankFacts facts = read_rank_facts(end.job.out);
  if (said_all(end.job)) return facts;
  facts.out_of_time = end.is_out_of_time(telling_start);
  facts.ended_badly = facts.out_of_time ? short_limit(probes) : end.how;
  return facts;
}

std::vector<PathResult> try_paths(const Probes& probes, std::vector<Path> paths,
                                  proof::GpuChoice gpus, const Variables& with) {
  std::vector<PathResult> all;
  while (!paths.empty()) {
    std::vector<std::string> names;
    for (const Path& path : paths) names.push_back(word_of(path));
    const ProbeEnd end =
        run_probe_to_its_end(probes, paths.size(),
                             {"--paths", fmt::format("{}", fmt::join(names, ",")), "--gpus",
                              gpus == proof::GpuChoice::first ? "first" : "in-turn"},
                             with);
    const std::vector<PathResult> now = results_of(probes, end, paths);
    for (const PathResult& result : now) {
      all.push_back(result);
      all.back().with = with;
      std::erase(paths, result.path);
    }
    if (!now.empty()) continue;
    const bool out_of_time = end.is_out_of_time(telling_start);
    for (const Path& path : paths)
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

}  // namespace halocline::doctor
