// SPDX-License-Identifier: Apache-2.0
#include "probe/probe_job.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/utc.hpp"
#include "launch/job.hpp"
#include "probe/end_of_job.hpp"
#include "probe/probe_report.hpp"

namespace halocline::proof {
namespace {

using State = Step::State;

struct Attempt {
  ProbeReport report;
  JobEnd end;
};

Attempt attempt(const ProbeJobRequest& request, const std::vector<Memory>& memories,
                const std::vector<std::int64_t>& bytes, Pairs pairs = Pairs::all) {
  std::vector<std::string_view> names;
  for (const Memory memory : memories) names.push_back(halocline::name_of(memory));
  const JobSpec job{
      .ranks = request.ranks,
      .program = request.program,
      .arguments = {probe_command, "--memory", fmt::format("{}", fmt::join(names, ",")), "--bytes",
                    fmt::format("{}", fmt::join(bytes, ",")), "--gpus",
                    request.gpus == GpuChoice::first ? "first" : "in-turn", "--pairs",
                    pairs == Pairs::all ? "all" : "of-a-node"},
      .cores = usable_cores() * request.nodes,
      .ranks_per_node = request.nodes > 1 ? request.ranks / request.nodes : 0,
      .chatter = Chatter::full};
  JobOptions options;
  options.output = JobOutput::capture;
  options.time_limit = request.time_limit;
  options.grace = std::chrono::seconds(2);
  options.without = launcher_internals(current_variables());
  options.without.insert(options.without.end(), request.without.begin(), request.without.end());
  Attempt result;
  Variables extra = job_variables(request.launcher, job);
  for (const auto& [name, value] : request.with) extra[name] = value;
  result.end = run_job(command(request.launcher, job), extra, options);
  if (result.end.how == JobEnd::How::interrupted)
    throw Error(ErrorKind::communication,
                fmt::format("stopped by signal {} ({}) while testing gpu_aware", result.end.signal,
                            strsignal(result.end.signal)));
  result.report = read_probe(result.end.out);
  return result;
}

std::string end_in_words(const Attempt& attempt, const ProbeJobRequest& request) {
  return proof::end_in_words(attempt.end, request.launcher.kind, request.time_limit);
}

/// "; its output: ..."; empty if it says nothing.
std::string complaint_of(const Attempt& attempt) {
  const std::string said = complaint_in(attempt.end, probe_mark);
  return said.empty() ? "" : "; its output: " + said;
}

std::string why_nothing_was_sent(const Attempt& attempt, const ProbeJobRequest& request) {
  if (attempt.end.how == JobEnd::How::not_started) return attempt.end.reason;
  return fmt::format("{}: {} before anything was sent{}", request.launcher.path,
                     end_in_words(attempt, request), complaint_of(attempt));
}

std::string how_it_failed(const Attempt& attempt, const Step& step,
                          const ProbeJobRequest& request) {
  switch (step.state) {
    case State::wrong:
      return fmt::format("{} in {} memory", step.text, halocline::name_of(step.memory));
    case State::failed:
      return fmt::format("{} while sending {} bytes from {} memory",
                         step.text.substr(0, step.text.find("; that rank is")), step.bytes,
                         halocline::name_of(step.memory));
    case State::trying:
      return fmt::format("{} while sending {} bytes from {} memory", end_in_words(attempt, request),
                         step.bytes, halocline::name_of(step.memory));
    case State::proved:
      return fmt::format("{} after sending {} bytes from {} memory", end_in_words(attempt, request),
                         step.bytes, halocline::name_of(step.memory));
  }
  return "";
}

bool crashed(const Attempt& attempt) {
  return !attempt.report.ended && attempt.end.how != JobEnd::How::timed_out;
}

/// The probe's exit codes tell what it found: 0 to 3.
bool ended_as_told(const Attempt& attempt) {
  constexpr int highest = 3;
  return attempt.end.how == JobEnd::How::exited && attempt.end.exit_code <= highest;
}

std::vector<Step> steps_of(const ProbeReport& report, Memory memory) {
  std::vector<Step> steps;
  for (const Step& step : report.steps)
    if (step.memory == memory) steps.push_back(step);
  return steps;
}

/// Tries the message that a crash took place in once more, alone.
std::string alone_too(const ProbeJobRequest& request, const Step& step) {
  const Attempt again = attempt(request, {step.memory}, {step.bytes});
  const std::vector<Step> steps = steps_of(again.report, step.memory);
  if (steps.empty() || steps.back().state != State::proved || crashed(again)) return "";
  return "; the same message alone arrived";
}

class ProbeJob {
 public:
  explicit ProbeJob(const ProbeJobRequest& request) : request_(request), left_(request.memories) {}

  ProbeJobAnswer run() {
    while (!left_.empty()) {
      const Attempt now = attempt(request_, left_, request_.bytes);
      // What is left behind the last word is MPI_Finalize.
      if (now.report.ended && !ended_as_told(now))
        answer_.bad_ends.push_back(end_in_words(now, request_) + complaint_of(now));
      const std::size_t before = left_.size();
      take(now);
      if (left_.size() < before) continue;
      not_tried(left_, why_nothing_was_sent(now, request_));
      break;
    }
    return std::move(answer_);
  }

 private:
  /// Makes proofs of what a job got to; the rest stays in left_.
  void take(const Attempt& now) {
    std::vector<Memory> rest;
    for (const Memory memory : left_) {
      const std::vector<Step> steps = steps_of(now.report, memory);
      if (const std::string* why = unavailable(now.report, memory))
        not_tried({memory}, *why);
      else if (steps.empty() || now.report.pairs.empty())
        rest.push_back(memory);
      else
        add(now, steps);
    }
    left_ = std::move(rest);
  }

  static const std::string* unavailable(const ProbeReport& report, Memory memory) {
    for (const auto& [which, why] : report.unavailable)
      if (which == memory) return &why;
    return nullptr;
  }

  /// Of nodes and what is between them, one may work without the other.
  void add(const Attempt& now, const std::vector<Step>& steps) {
    const Proof proof = proof_of(now, steps);
    const auto& pairs = now.report.pairs;
    const bool goes_between =
        std::find(pairs.begin(), pairs.end(), GpuPair::other_node) != pairs.end();
    if (proof.outcome == Outcome::works || !goes_between || pairs.size() == 1)
      return keep(proof, pairs);
    keep(proof, {GpuPair::other_node});
    const Attempt again = attempt(request_, {proof.memory}, request_.bytes, Pairs::of_a_node);
    if (const auto steps_then = steps_of(again.report, proof.memory); !steps_then.empty())
      keep(proof_of(again, steps_then), again.report.pairs);
  }

  Proof proof_of(const Attempt& now, const std::vector<Step>& steps) const {
    const Step& last = steps.back();
    const bool is_last = last == now.report.steps.back();
    Proof proof{.memory = last.memory,
                .when = now_in_utc(),
                .key = request_.key.hash,
                .ingredients = request_.key.ingredients};
    for (const Step& step : steps) proof.sizes.push_back(step.bytes);
    const bool works = last.state == State::proved && steps.size() == request_.bytes.size() &&
                       !(is_last && !now.report.ended);
    proof.outcome = works ? Outcome::works : Outcome::fails;
    if (!works) proof.how = how_it_failed(now, last, request_);
    if (last.state == State::trying && crashed(now) && steps.size() > 1)
      proof.how += alone_too(request_, last);
    return proof;
  }

  void keep(Proof proof, const std::vector<GpuPair>& pairs) {
    for (const GpuPair pair : pairs) {
      proof.pair = pair;
      answer_.proofs.push_back(proof);
    }
  }

  void not_tried(const std::vector<Memory>& memories, const std::string& why) {
    std::vector<std::string_view> names;
    for (const Memory memory : memories) names.push_back(halocline::name_of(memory));
    answer_.not_tried.push_back(
        fmt::format("{} memory could not be tried: {}", fmt::join(names, " and "), why));
  }

  const ProbeJobRequest& request_;
  std::vector<Memory> left_;
  ProbeJobAnswer answer_;
};

}  // namespace

ProbeJobAnswer prove_in_probe_job(const ProbeJobRequest& request) {
  return ProbeJob(request).run();
}

}  // namespace halocline::proof
