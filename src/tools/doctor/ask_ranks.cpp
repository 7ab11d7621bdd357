// SPDX-License-Identifier: Apache-2.0
#include "doctor/ask_ranks.hpp"

#include "doctor/fact_lines.hpp"

namespace halocline::doctor {

ProbeFacts ask_ranks(const probe::Probes& probes) {
  // MPI's start, facts, libraries, speeds.
  constexpr std::size_t parts = 4;
  const probe::ProbeEnd end = probe::run_probe(probes, parts, {"--facts"});
  ProbeFacts facts = read_probe_facts(end.job.out);
  if (end.finished) return facts;
  facts.out_of_time = end.is_out_of_time(probe::conclusive_start);
  facts.ended_badly = facts.out_of_time ? probe::short_limit(probes) : end.how;
  return facts;
}

}  // namespace halocline::doctor
