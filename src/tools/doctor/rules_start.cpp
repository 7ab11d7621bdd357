// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "doctor/rules.hpp"
#include "machine/cores.hpp"

namespace halocline::doctor::rules {
namespace {

std::string fitting_launcher(const Facts& facts) {
  if (facts.launching.instead)
    return fmt::format("use {}, which fits: doctor used it for the remaining tests",
                       facts.launching.instead->path);
  const bool is_open_mpi = facts.node.family == MpiFamily::open_mpi;
  return fmt::format(
      "use a launcher of {} (Debian, Ubuntu: {}), or build Halocline with the "
      "other MPI",
      name_of(facts.node.family), is_open_mpi ? "openmpi-bin" : "mpich");
}

/// What ranks said under the launcher that the user named, or that was found.
const RankFacts& first_start(const Facts& facts) {
  return facts.misstarted ? *facts.misstarted : facts.ranks;
}

bool are_alone(const Evidence& evidence) {
  const auto& ranks = first_start(evidence.facts).ranks;
  if (evidence.ranks < 2 || ranks.size() < 2) return false;
  return std::all_of(ranks.begin(), ranks.end(),
                     [](const RankSeen& rank) { return rank.size == 1; });
}

/// "; doctor used /usr/bin/mpirun for the remaining tests", if so.
std::string taken_instead(const Facts& facts) {
  if (!facts.launching.instead) return "";
  return fmt::format("; doctor used {} for the remaining tests", facts.launching.instead->path);
}

constexpr auto how_srun_starts =
    "tell srun how this MPI starts: --mpi=pmix for Open MPI, --mpi=pmi2 or --mpi=cray_shasta for "
    "MPICH; srun --mpi=list shows the choices";

/// Started by srun without a word of how: many sites have no default that fits every MPI.
bool is_srun_untold(const Evidence& evidence, const Launcher& launcher) {
  return launcher.kind == LauncherKind::srun &&
         !evidence.facts.node.settings.contains("SLURM_MPI_TYPE") &&
         std::none_of(launcher.arguments.begin(), launcher.arguments.end(),
                      [](const std::string& word) { return word.starts_with("--mpi"); });
}

/// What to do about ranks that ended before they had told all.
Finding early_end(const Evidence& evidence, const Launcher& launcher) {
  const Facts& facts = evidence.facts;
  const RankFacts& ranks = first_start(facts);
  const std::string what =
      ranks.ranks.empty() ? fmt::format("{} ranks do not start", evidence.ranks)
                          : fmt::format("ranks end early, while {}",
                                        ranks.doing.empty() ? "collecting facts" : ranks.doing);
  const std::string seen = fmt::format("{}: {}", launcher.path, ranks.ended_badly);
  if (const std::string small = small_shm(evidence, ranks_here(evidence)); !small.empty())
    return {Severity::broken, what, fmt::format("{}; {}", seen, small), larger_shm};
  if (ranks.ranks.empty() && is_srun_untold(evidence, launcher))
    return {Severity::broken, what, seen, how_srun_starts + taken_instead(facts)};
  const auto preload = facts.node.settings.find("LD_PRELOAD");
  return {Severity::broken, what, seen,
          fmt::format("{}run it by hand and read its whole output: {} -n {} hostname{}",
                      preload == facts.node.settings.end()
                          ? ""
                          : fmt::format("try without LD_PRELOAD ({}), then ", preload->second),
                      launcher.path, evidence.ranks, taken_instead(facts))};
}

/// What MPI says of one of its settings; empty if nothing.
std::string mpi_setting(const RankFacts& ranks, std::string_view name) {
  for (const auto& [its_name, value] : ranks.mpi_settings)
    if (its_name == name) return value;
  return "";
}

/// What helps an MPI that does not come to its end.
std::string fix_for_bad_end(const Facts& facts, const std::string& device) {
  if (std::string fix = fix_for_preload(facts); !fix.empty()) return fix;
  if (facts.node.family == MpiFamily::open_mpi)
    return "try another transport of this MPI: mpirun --mca pml ob1; otherwise use another version";
  const auto has = [&](const char* part) { return device.find(part) != std::string::npos; };
  // MPICH 4.0.2 as Debian builds it, ch4:ucx, between hosts over TCP: one rank in UCX's progress,
  // the others in PMI; a barrier before it changes nothing.
  if (has("ucx"))
    return fmt::format(
        "use {}: MPICH 4.0.2 over UCX is known to hang like this between hosts at times; "
        "until then UCX_KEEPALIVE_INTERVAL=inf may help",
        has("ofi") ? "libfabric (MPIR_CVAR_CH4_NETMOD=ofi), or another MPICH"
                   : "another version of MPICH, or one built with libfabric (ch4:ofi)");
  return "use another version of this MPI";
}

}  // namespace

std::string fix_for_preload(const Facts& facts) {
  const auto preload = facts.node.settings.find("LD_PRELOAD");
  if (preload == facts.node.settings.end()) return "";
  return fmt::format("LD_PRELOAD puts {} between program and MPI: run doctor without it",
                     preload->second);
}

Findings end_of_ranks(const Evidence& evidence) {
  const auto& ends = evidence.bad_ends;
  if (ends.empty()) return {};
  const std::string device = mpi_setting(evidence.facts.ranks, "device");
  const std::string jobs =
      ends.size() == 1
          ? "a job that had finished its tests"
          : fmt::format("{} jobs that had finished their tests; the first", ends.size());
  return {{Severity::broken, "ranks finish their work, but not MPI_Finalize",
           fmt::format("{}: {}; {}{}", jobs, ends.front(), evidence.facts.node.mpi,
                       device.empty() ? "" : ", " + device),
           fix_for_bad_end(evidence.facts, device)}};
}

Findings launcher(const Evidence& evidence) {
  const Facts& facts = evidence.facts;
  const Launching& launching = facts.launching;
  if (!launching.launcher)
    return {{Severity::broken, "cannot start ranks: no launcher found", launching.problem,
             launching.chosen_by.empty()
                 ? fitting_launcher(facts)
                 : fmt::format("correct {}, or omit it", launching.chosen_by)}};
  if (launching.objection.empty()) return {};
  return {{Severity::broken,
           fmt::format("{} is the launcher of another MPI: ranks do not find each other",
                       launching.launcher->path),
           fmt::format("{} {}, and this program was built with {}{}", launching.launcher->path,
                       launching.objection, facts.node.mpi,
                       are_alone(evidence)
                           ? fmt::format("; each of {} ranks ran alone (size 1)", evidence.ranks)
                           : ""),
           fitting_launcher(facts)}};
}

Findings start_of_ranks(const Evidence& evidence) {
  const Facts& facts = evidence.facts;
  // Of a launcher of another MPI the rule above has told.
  if (!facts.launching.launcher || !facts.launching.objection.empty()) return {};
  const Launcher& launcher = *facts.launching.launcher;
  if (are_alone(evidence))
    return {{Severity::broken,
             fmt::format("{} ranks do not find each other: each runs alone", evidence.ranks),
             fmt::format("started by {}, each reported itself as the only rank", launcher.path),
             (launcher.kind == LauncherKind::srun
                  ? how_srun_starts
                  : fmt::format("the launcher must belong to {}, the MPI of this program",
                                facts.node.mpi)) +
                 taken_instead(facts)}};
  const RankFacts& ranks = first_start(facts);
  if (!ranks.ended_badly.empty()) return {early_end(evidence, launcher)};
  if (ranks.ranks.empty() || ranks.ranks.front().size == evidence.ranks) return {};
  return {{Severity::broken,
           fmt::format("the launcher does not start the {} ranks requested", evidence.ranks),
           fmt::format("{} started {}", launcher.path, ranks.ranks.front().size),
           fmt::format("write {} where the number of ranks belongs: \"mpirun -n {}\"{}",
                       ranks_placeholder, ranks_placeholder, taken_instead(facts))}};
}

Findings cores(const Evidence& evidence) {
  const Facts& facts = evidence.facts;
  std::set<int> together;
  int on_node = 0;
  std::string cores;
  for (const RankSeen& rank : facts.ranks.ranks) {
    if (rank.host != facts.ranks.ranks.front().host) continue;
    ++on_node;
    cores = rank.cores;
    for (const int core : machine::numbers_in(rank.cores)) together.insert(core);
  }
  if (on_node < 2 || together.empty()) return {};
  const int online = facts.node.online_threads;
  const auto count = static_cast<int>(together.size());
  if (count >= on_node) return {};
  const bool here_too = facts.node.usable_cores < on_node && online > facts.node.usable_cores;
  return {
      {Severity::slow,
       fmt::format(
           "{} ranks share {}: they take turns instead of working in parallel", on_node,
           count == 1 ? fmt::format("core {}", *together.begin()) : fmt::format("{} cores", count)),
       fmt::format("they may run only on {} {}, of {} on the node", count == 1 ? "core" : "cores",
                   machine::ranges_of({together.begin(), together.end()}), online),
       here_too ? fmt::format(
                      "this shell may use only core {}: do not use taskset, or request more cores "
                      "(Slurm: --cpus-per-task={}, PBS: ncpus={})",
                      facts.node.allowed_cores, on_node, on_node)
       : online < on_node
           ? fmt::format("start no more ranks than cores: {}", online)
           : "stop the launcher from pinning them: mpirun --bind-to none, mpiexec -bind-to "
             "none, srun --cpu-bind=none"}};
}

}  // namespace halocline::doctor::rules
