// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "doctor/fact_lines.hpp"
#include "doctor/node_facts.hpp"
#include "doctor/rules.hpp"
#include "launch/settings.hpp"
#include "machine/cores.hpp"

namespace halocline::doctor::rules {
namespace {

std::string fitting_launcher(const Facts& facts) {
  if (facts.launching.instead)
    return fmt::format("use {}, which fits: doctor used it for the remaining tests",
                       facts.launching.instead->path);
  const bool is_open_mpi = facts.node.family == MpiFamily::open_mpi;
  return fmt::format(
      "use a launcher of {} (Debian, Ubuntu: {}), or build Halocline with the other MPI",
      name_of(facts.node.family), is_open_mpi ? "openmpi-bin" : "mpich");
}

/// Returns the facts from ranks under the user's launcher, or the one that was found.
const ProbeFacts& first_start(const Facts& facts) {
  return facts.failed_start ? *facts.failed_start : facts.ranks;
}

bool are_alone(const Evidence& evidence) {
  const auto& ranks = first_start(evidence.facts).ranks;
  if (evidence.ranks < 2 || ranks.size() < 2) return false;
  return std::all_of(ranks.begin(), ranks.end(),
                     [](const RankSeen& rank) { return rank.size == 1; });
}

/// "; or omit --launcher: doctor used /usr/bin/mpirun for the remaining tests", if so.
std::string taken_instead(const Facts& facts) {
  const Launching& launching = facts.launching;
  if (!launching.instead) return "";
  return fmt::format("; or {} {}: doctor used {} for the remaining tests",
                     launching.chosen_by == launcher_variable ? "unset" : "omit",
                     launching.chosen_by, launching.instead->path);
}

/// Returns the value of srun's --mpi or the site's default: "pmi2"; empty: none.
std::string mpi_option_of_srun(const Evidence& evidence, const Launcher& launcher) {
  constexpr std::string_view option = "--mpi=";
  for (const std::string& word : launcher.arguments)
    if (word.starts_with(option)) return word.substr(option.size());
  const auto site = evidence.facts.node.settings.find("SLURM_MPI_TYPE");
  return site == evidence.facts.node.settings.end() ? "" : site->second;
}

/// Returns the fix for ranks that srun starts alone or not at all; empty if srun is not at fault.
std::string fix_for_srun(const Evidence& evidence, const Launcher& launcher,
                         const std::string& seen) {
  if (launcher.kind != LauncherKind::srun) return "";
  const NodeFacts& node = evidence.facts.node;
  const auto has = [&](const char* words) { return seen.find(words) != std::string::npos; };
  if (has("configuration source") || has("slurm controller") || has("slurm_load_ctl_conf"))
    return fmt::format(
        "srun finds no Slurm here (sinfo must answer): run doctor where it does, or start ranks "
        "with the launcher of {}: {}",
        name_of(node.family), node.family == MpiFamily::open_mpi ? "mpirun" : "mpiexec");
  const bool is_cray = node.mpi.find("CRAY") != std::string::npos;
  const std::string fitting = node.family == MpiFamily::open_mpi ? "pmix"
                              : is_cray                          ? "cray_shasta"
                                                                 : "pmi2";
  const std::string given = mpi_option_of_srun(evidence, launcher);
  if (!given.empty() && !given.starts_with(fitting))
    return fmt::format(
        "srun was called with --mpi={}: {} starts by --mpi={}, if srun --mpi=list shows it", given,
        name_of(node.family), fitting);
  if (given.empty())
    return "pass srun the way this MPI starts: --mpi=pmix for Open MPI, --mpi=pmi2 or "
           "--mpi=cray_shasta for MPICH; srun --mpi=list shows the choices";
  return "";
}

/// Returns the launch command of doctor's ranks, with a benchmark as the program.
std::string by_hand(const Evidence& evidence, const Launcher& launcher) {
  const NodeFacts& node = evidence.facts.node;
  Launcher with_permission = launcher;
  if (launcher.kind == LauncherKind::open_mpi && node.is_root)
    with_permission.arguments.insert(with_permission.arguments.begin(), "--allow-run-as-root");
  const std::vector<std::string> words = command(
      with_permission, {.ranks = evidence.ranks,
                        .program = "halocline",
                        .arguments = {"bench", "p2p"},
                        .cores = node.usable_cores * evidence.nodes,
                        .ranks_per_node = evidence.nodes > 1 ? evidence.ranks / evidence.nodes : 0,
                        .chatter = Chatter::full});
  return fmt::format("{}", fmt::join(words, " "));
}

/// Returns the MPI settings among the launcher's arguments, such as "--mca pml foo"; empty: none.
std::string settings_in(const Launcher& launcher) {
  return settings_text(settings_of_mpi(variables_in_ranks(launcher, {})));
}

/// Finding: ranks start only without some variables of the user's.
Finding blamed_settings(const Evidence& evidence, const Launcher& launcher) {
  const Launching& launching = evidence.facts.launching;
  std::vector<std::string> names;
  for (const auto& [name, value] : launching.blamed) names.push_back(name);
  const std::string settings = settings_text(launching.blamed);
  const std::optional<Cause> lack = tight_limits(evidence);
  return {Severity::broken, fmt::format("{} ranks do not start with {}", evidence.ranks, settings),
          fmt::format("{}: {}; without {} they start{}", launcher.path,
                      first_start(evidence.facts).ended_badly, names.size() == 1 ? "it" : "them",
                      lack ? "; " + lack->seen : ""),
          fmt::format("unset {}, or correct {}; doctor made the remaining tests without",
                      fmt::join(names, " and "), names.size() == 1 ? "it" : "them")};
}

/// "~/.openmpi/mca-params.conf (btl = self)".
std::string words_for(const std::vector<ParameterFile>& files) {
  std::vector<std::string> all;
  for (const auto& [path, settings] : files) {
    std::vector<std::string> lines;
    for (const auto& [name, value] : settings) lines.push_back(fmt::format("{} = {}", name, value));
    all.push_back(fmt::format("{} ({})", path, fmt::join(lines, ", ")));
  }
  return fmt::format("{}", fmt::join(all, " and "));
}

/// Finding: ranks start only without some files of MPI parameters.
Finding blamed_files(const Evidence& evidence, const Launcher& launcher) {
  const Launching& launching = evidence.facts.launching;
  const std::string files = words_for(launching.blamed_files);
  return {Severity::broken,
          fmt::format("{} ranks do not start with MPI's parameters in {}", evidence.ranks, files),
          fmt::format("{}: {}; without these parameters they start", launcher.path,
                      first_start(evidence.facts).ended_badly),
          fmt::format("correct or remove them; until then OMPI_MCA_mca_base_param_files={} leaves "
                      "them out, as doctor did in the remaining tests",
                      launching.other_files)};
}

/// Finding: ranks did not start at first, but did the second time.
Finding failed_by_chance(const Evidence& evidence, const Launcher& launcher) {
  return {
      Severity::broken,
      fmt::format(
          "{} ranks do not start every time: the first of two tries failed, nothing having changed",
          evidence.ranks),
      fmt::format("{}: {}", launcher.path, first_start(evidence.facts).ended_badly),
      fmt::format("repeat doctor; if a start fails again, run it by hand until it does, and read "
                  "its whole output: {}",
                  by_hand(evidence, launcher))};
}

/// Messages of launchers that name a cause, and the fixes.
struct KnownWords {
  std::string_view words, fix;
};
constexpr KnownWords known_words[] = {
    {"plm_rsh_agent",
     "install ssh (Debian, Ubuntu: openssh-client), or correct OMPI_MCA_plm_rsh_agent; where all "
     "ranks run on this node, OMPI_MCA_plm_rsh_agent=sh does as well"},
    {"There are not enough slots",
     "write the number of ranks behind the host, as in --host NAME:2 or slots=2 in a hostfile, or "
     "add --oversubscribe"},
    {"unable to open the hostfile", "correct the name of the hostfile, or leave it out"},
    {"unable to find network interfaces",
     "bring the loopback interface up: ip link set lo up; in a container use another network than "
     "none"},
    {"unknown option", "correct or remove that option of the launcher"}};

std::string fix_for_known_words(const std::string& seen) {
  for (const auto& [words, fix] : known_words)
    if (seen.find(words) != std::string::npos) return std::string(fix);
  return "";
}

/// Finding: ranks ended before they had reported all facts.
Finding early_end(const Evidence& evidence, const Launcher& launcher) {
  const Facts& facts = evidence.facts;
  const ProbeFacts& ranks = first_start(facts);
  const bool started =
      !ranks.ranks.empty() || (!ranks.doing.empty() && ranks.doing != starting_mpi);
  const std::string what = started
                               ? fmt::format("ranks end early, while {}",
                                             ranks.doing.empty() ? "collecting facts" : ranks.doing)
                               : fmt::format("{} ranks do not start", evidence.ranks);
  const std::string seen = fmt::format("{}: {}", launcher.path, ranks.ended_badly);
  if (const std::string small = small_shm(evidence, ranks_here(evidence)); !small.empty())
    return {Severity::broken, what, fmt::format("{}; {}", seen, small), larger_shm(facts)};
  for (const std::string& fix : {fix_for_lost_rank(seen), fix_for_known_words(seen)})
    if (!fix.empty()) return {Severity::broken, what, seen, fix + taken_instead(facts)};
  if (const std::optional<Cause> lack = tight_limits(evidence))
    return {Severity::broken, what, fmt::format("{}; {}", seen, lack->seen), lack->fix};
  if (const std::string fix = fix_for_memory(seen); !fix.empty())
    return {Severity::broken, what, seen, fix + taken_instead(facts)};
  if (const std::string fix = fix_for_srun(evidence, launcher, seen); !started && !fix.empty())
    return {Severity::broken, what, seen, fix + taken_instead(facts)};
  const std::string settings = settings_in(launcher);
  if (!started && facts.launching.instead && !settings.empty())
    return {
        Severity::broken, what, seen,
        fmt::format("correct or remove what {} sets: {}{}",
                    facts.launching.chosen_by.empty() ? launcher.path : facts.launching.chosen_by,
                    settings, taken_instead(facts))};
  const auto preload = facts.node.settings.find("LD_PRELOAD");
  return {Severity::broken, what, seen,
          fmt::format("{}run it by hand and read its whole output: {}{}",
                      preload == facts.node.settings.end()
                          ? ""
                          : fmt::format("try without LD_PRELOAD ({}), then ", preload->second),
                      by_hand(evidence, launcher), taken_instead(facts))};
}

/// Returns one of the settings that MPI reports; empty if there is none.
std::string mpi_setting(const ProbeFacts& ranks, std::string_view name) {
  for (const auto& [its_name, value] : ranks.mpi_settings)
    if (its_name == name) return value;
  return "";
}

/// Returns the fix for an MPI that hangs or crashes in MPI_Finalize.
std::string fix_for_bad_end(const Facts& facts, const std::string& device, const std::string& end) {
  if (std::string fix = fix_for_preload(facts); !fix.empty()) return fix;
  if (std::string fix = fix_for_memory(end); !fix.empty()) return fix;
  if (facts.node.family == MpiFamily::open_mpi) {
    const std::string of_lost = fix_for_lost_rank(end);
    return !of_lost.empty() ? of_lost
                            : "try another transport of this MPI: mpirun --mca pml ob1; otherwise "
                              "use another version";
  }
  const auto has = [&](const char* part) { return device.find(part) != std::string::npos; };
  // Seen with Debian's MPICH 4.0.2, ch4:ucx, between hosts over TCP: one rank in UCX's progress,
  // the others in PMI. A barrier before it does not help.
  if (has("ucx"))
    return fmt::format(
        "use {}: MPICH 4.0.2 over UCX is known to hang like this between hosts at times; until "
        "then UCX_KEEPALIVE_INTERVAL=inf may help",
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
           fix_for_bad_end(evidence.facts, device, ends.front())}};
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

Findings other_in_path(const Evidence& evidence) {
  const Launching& launching = evidence.facts.launching;
  const auto& used = launching.instead ? launching.instead : launching.launcher;
  const bool is_users = !launching.chosen_by.empty() && !launching.instead;
  if (!used || is_users || !launching.first_in_path) return {};
  const std::filesystem::path path(used->path);
  const std::string name = path.filename().string(), folder = path.parent_path().string();
  const std::string fix = fmt::format(
      "start with {}, as the launch line does, or put {} first in PATH", used->path, folder);
  if (launching.first_in_path->empty())
    return {{Severity::note, fmt::format("{} is not in PATH", name),
             fmt::format("doctor used {}", used->path), fix}};
  return {{Severity::note, fmt::format("PATH has another {} first, which doctor did not use", name),
           fmt::format("{}{}{}; doctor used {}", *launching.first_in_path,
                       launching.objection_to_first.empty() ? "" : " ",
                       launching.objection_to_first, used->path),
           fix}};
}

Findings start_of_ranks(const Evidence& evidence) {
  const Facts& facts = evidence.facts;
  // The rule `launcher` reports launchers of another MPI.
  if (!facts.launching.launcher || !facts.launching.objection.empty()) return {};
  const Launcher& launcher = *facts.launching.launcher;
  const std::string of_srun = fix_for_srun(evidence, launcher, "");
  if (are_alone(evidence))
    return {
        {Severity::broken,
         fmt::format("{} ranks do not find each other: each runs alone", evidence.ranks),
         fmt::format("started by {}, each reported itself as the only rank", launcher.path),
         (of_srun.empty() ? fmt::format("the launcher must belong to {}, the MPI of this program",
                                        facts.node.mpi)
                          : of_srun) +
             taken_instead(facts)}};
  const ProbeFacts& ranks = first_start(facts);
  if (ranks.out_of_time) return {};
  if (!facts.launching.blamed.empty()) return {blamed_settings(evidence, launcher)};
  if (!facts.launching.blamed_files.empty()) return {blamed_files(evidence, launcher)};
  if (facts.launching.failed_by_chance) return {failed_by_chance(evidence, launcher)};
  if (!ranks.ended_badly.empty()) return {early_end(evidence, launcher)};
  if (ranks.ranks.empty() || ranks.ranks.front().size == evidence.ranks) return {};
  return {{Severity::broken,
           fmt::format("the launcher does not start the {} ranks requested", evidence.ranks),
           fmt::format("{} started {}", launcher.path, ranks.ranks.front().size),
           (has_ranks_placeholder(launcher)
                ? fmt::format("the number of ranks is in its command, and it does not follow it: "
                              "see what {} makes of its arguments: {}",
                              launcher.path, by_hand(evidence, launcher))
                : fmt::format("write {} where the number of ranks belongs: \"mpirun -n {}\"",
                              ranks_placeholder, ranks_placeholder)) +
               taken_instead(facts)}};
}

Findings not_tested(const Evidence& evidence) {
  const ProbeFacts& ranks = first_start(evidence.facts);
  std::vector<std::string> names, seen;
  if (ranks.out_of_time) {
    names.emplace_back(ranks.ranks.empty() ? "anything" : "some facts");
    seen.push_back(fmt::format("{} while {}", ranks.ended_badly,
                               ranks.doing.empty() ? "ranks were started" : ranks.doing));
  }
  for (const auto* results : {&evidence.paths, &evidence.collectives})
    for (const PathResult& result : *results) {
      if (!result.out_of_time) continue;
      names.push_back(words_for(result.path));
      if (std::find(seen.begin(), seen.end(), result.how) == seen.end()) seen.push_back(result.how);
    }
  if (names.empty()) return {};
  return {{Severity::untested,
           fmt::format("the time limit was too short to test {}", fmt::join(names, ", ")),
           fmt::format("{}", fmt::join(seen, "; ")),
           "use a longer --time-limit; 20 seconds are enough on most machines"}};
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
  // These variables alone limit the places; otherwise the shell's cores do.
  const Variables bind = bindings_among(facts.node.settings);
  const bool places = bind.contains("OMP_PLACES") || bind.contains("GOMP_CPU_AFFINITY");
  const bool here_too = facts.node.usable_cores < on_node && online > facts.node.usable_cores;
  return {
      {Severity::slow,
       fmt::format(
           "{} ranks share {}: they take turns instead of working in parallel", on_node,
           count == 1 ? fmt::format("core {}", *together.begin()) : fmt::format("{} cores", count)),
       fmt::format("they may run only on {} {}, of {} on the node", count == 1 ? "core" : "cores",
                   machine::ranges_of({together.begin(), together.end()}), online),
       here_too && places
           ? fmt::format("correct or unset what binds threads of OpenMP: {}", settings_text(bind))
       : here_too ? fmt::format("this shell may use only core {}: do not use taskset, or request "
                                "more cores (Slurm: --cpus-per-task={}, PBS: ncpus={})",
                                facts.node.allowed_cores, on_node, on_node)
       : online < on_node
           ? fmt::format("start no more ranks than cores: {}", online)
           : "stop the launcher from pinning them: remove taskset or numactl from its command; "
             "mpirun --bind-to none, mpiexec -bind-to none, srun --cpu-bind=none"}};
}

Findings bound_threads(const Evidence& evidence) {
  const Variables bindings = bindings_among(evidence.facts.node.settings);
  if (bindings.empty() || !cores(evidence).empty()) return {};
  return {{Severity::note,
           "OpenMP binds threads here: ranks that may use the same cores all begin at the first of "
           "them, and take turns",
           settings_text(bindings),
           "give each rank cores of its own, as the launch line does, or unset these variables; "
           "ranks of --ranks do not get them"}};
}

}  // namespace halocline::doctor::rules
