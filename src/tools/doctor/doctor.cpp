// SPDX-License-Identifier: Apache-2.0
#include "doctor/doctor.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <halocline/error.hpp>

#include "base/recorder.hpp"
#include "base/text/notes.hpp"
#include "doctor/fact_lines.hpp"
#include "doctor/libraries.hpp"
#include "doctor/node_facts.hpp"
#include "launch/settings.hpp"
#include "probe/ensure.hpp"
#include "probe/ring.hpp"
#include "proof/fixes.hpp"
#include "proof/surroundings.hpp"

namespace halocline::doctor {
namespace {

proof::UcxHere ucx_here(const NodeFacts& node) {
  auto here = proof::UcxHere::none;
  for (const std::string& library : node.libraries) {
    if (library.starts_with("no libuct_cuda")) here = proof::UcxHere::without_cuda;
    if (library.find("libuct_cuda.so") != std::string::npos) return proof::UcxHere::with_cuda;
  }
  return here;
}

/// Returns the kind of pair that the GPUs of a node's ranks form; nothing if some rank sees no GPU.
std::optional<proof::GpuPair> pair_of(const ProbeFacts& ranks) {
  std::set<std::string> uuids;
  for (const machine::RankFacts& rank : ranks.machine) {
    if (rank.visible.empty()) return std::nullopt;
    if (rank.node != ranks.machine.front().node) continue;
    for (const machine::VisibleGpu& one : rank.visible) uuids.insert(one.gpu.uuid);
  }
  if (uuids.empty()) return std::nullopt;
  return uuids.size() > 1 ? proof::GpuPair::same_node : proof::GpuPair::same_gpu;
}

/// Returns the node of each rank: as MPI reports it, or by host names if the ranks ended before
/// they reported it.
std::vector<int> nodes_of_ranks(const ProbeFacts& facts, int ranks) {
  std::vector<int> node_of;
  for (const machine::RankFacts& rank : facts.machine) node_of.push_back(rank.node);
  if (std::ssize(node_of) == ranks) return node_of;
  node_of.assign(static_cast<std::size_t>(ranks), 0);
  std::vector<std::string> hosts;
  for (const RankSeen& rank : facts.ranks) {
    auto host = std::find(hosts.begin(), hosts.end(), rank.host);
    if (host == hosts.end()) host = hosts.insert(hosts.end(), rank.host);
    if (rank.rank < ranks)
      node_of[static_cast<std::size_t>(rank.rank)] = static_cast<int>(host - hosts.begin());
  }
  return node_of;
}

/// GPU memory that does not come from cudaMalloc.
constexpr device::Allocator other_allocators[] = {device::Allocator::pool,
                                                  device::Allocator::virtual_memory};

/// Returns why kernels of some GPU cannot read ordinary host memory; empty if all can.
std::string no_system_memory(const ProbeFacts& ranks) {
  for (const machine::RankFacts& rank : ranks.machine)
    for (const machine::VisibleGpu& one : rank.visible)
      if (!one.gpu.no_system_memory.empty()) return one.gpu.no_system_memory;
  return "";
}

/// Runs doctor's first job, which gathers facts from ranks. How the job ended is among the facts.
ProbeFacts gather_probe_facts(const probe::Probes& probes) {
  constexpr std::size_t parts = 4;  // start of MPI, facts, libraries, speeds
  const probe::ProbeEnd end = probe::run_probe(probes, parts, {"--facts"});
  ProbeFacts facts = read_probe_facts(end.job.out);
  if (end.finished) return facts;
  facts.out_of_time = end.is_out_of_time(probe::conclusive_start);
  facts.ended_badly = facts.out_of_time ? probe::short_limit(probes) : end.how;
  return facts;
}

class Examination {
 public:
  Examination(const DoctorOptions& options, const Variables& variables)
      : options_(options), variables_(variables) {}

  Evidence run() {
    Facts& facts = evidence_.facts;
    facts.node = read_node(variables_);
    evidence_.nodes = std::max(1, facts.node.allocation.nodes.value_or(1));
    constexpr int ranks_each = 2;
    evidence_.ranks = options_.ranks.value_or(ranks_each * evidence_.nodes);
    // With a number of ranks from the user, the launcher alone decides on their nodes.
    if (options_.ranks) evidence_.nodes = 1;
    facts.launching =
        read_launching(options_.launcher, options_.launcher_hint, facts.node.family, variables_);
    if (!facts.launching.launcher) return std::move(evidence_);
    facts.node.parameter_files = read_parameter_files(variables_, facts.launching.launcher->path);
    probes_ = {.launcher = *facts.launching.launcher,
               .program = options_.program,
               .ranks = evidence_.ranks,
               .nodes = evidence_.nodes,
               .time_limit = options_.time_limit.value_or(
                   probe::limit_under(facts.node.load.value_or(0), facts.node.online_threads)),
               .on_bad_end = [this](const std::string& how) { evidence_.bad_ends.push_back(how); }};
    facts.node.settings = settings_among(in_ranks(variables_));
    options_.on_progress(fmt::format("collecting facts from {} ranks", evidence_.ranks));
    facts.ranks = gather_probe_facts(probes_);
    // Other launchers are tried before parameter files are left out, as they read these files too.
    if (!find_each_other() && !facts.ranks.out_of_time && !start_without_variables() &&
        !start_otherwise())
      start_without_files();
    if (find_each_other()) try_all();
    std::stable_sort(
        evidence_.paths.begin(), evidence_.paths.end(),
        [](const PathResult& a, const PathResult& b) { return a.path.distance < b.path.distance; });
    return std::move(evidence_);
  }

 private:
  bool find_each_other() const { return find_each_other(evidence_.facts.ranks); }
  bool find_each_other(const ProbeFacts& facts) const {
    return !facts.ranks.empty() && facts.ranks.front().size == evidence_.ranks;
  }

  /// Settings are suspects only if no rank has started.
  bool may_blame_settings() const {
    const Facts& facts = evidence_.facts;
    return facts.ranks.ranks.empty() && facts.launching.objection.empty();
  }

  /// Returns whether ranks fail to start again with the user's settings, since the first failure
  /// may have been chance. If they start, continues with them.
  bool fail_again() {
    options_.on_progress("starting ranks once more");
    probe::Probes probes = probes_;
    probes.on_bad_end = {};
    ProbeFacts again = gather_probe_facts(probes);
    if (!find_each_other(again)) return true;
    take_start(std::move(again));
    evidence_.facts.launching.failed_by_chance = true;
    return false;
  }

  /// Leaves out the user's variables for MPI, if ranks start only without them.
  bool start_without_variables() {
    Facts& facts = evidence_.facts;
    const Variables suspects = settings_of_mpi(variables_);
    if (suspects.empty() || !may_blame_settings()) return false;
    options_.on_progress("starting ranks without the settings of MPI");
    ProbeFacts without_all = ask_without(suspects);
    if (!find_each_other(without_all)) return false;
    if (!fail_again()) return true;
    take_start(std::move(without_all));
    facts.launching.blamed = suspects;
    if (suspects.size() > 1) blame_one_of(suspects);
    for (const auto& [name, value] : facts.launching.blamed) {
      probes_.without.push_back(name);
      variables_.erase(name);
    }
    return true;
  }

  /// Leaves out one or all files of MPI parameters, if ranks start only without them.
  void start_without_files() {
    const std::vector<ParameterFile>& files = evidence_.facts.node.parameter_files;
    if (evidence_.facts.node.family != MpiFamily::open_mpi || !may_blame_settings()) return;
    for (const ParameterFile& file : files)
      if (start_without_files({file})) return;
    if (files.size() > 1) start_without_files(files);
  }

  bool start_without_files(const std::vector<ParameterFile>& suspects) {
    Facts& facts = evidence_.facts;
    options_.on_progress("starting ranks without the files of MPI's parameters");
    const std::string others = files_without(facts.node.parameter_files, suspects);
    probe::Probes probes = probes_;
    probes.with["OMPI_MCA_mca_base_param_files"] = others;
    probes.on_bad_end = {};
    ProbeFacts without_files = gather_probe_facts(probes);
    if (!find_each_other(without_files)) return false;
    if (!fail_again()) return true;
    take_start(std::move(without_files));
    facts.launching.blamed_files = suspects;
    facts.launching.other_files = others;
    probes_.with = probes.with;
    return true;
  }

  /// Continues with ranks that were started differently from the user's settings.
  void take_start(ProbeFacts started) {
    evidence_.facts.failed_start = std::exchange(evidence_.facts.ranks, std::move(started));
    evidence_.bad_ends.clear();
  }

  ProbeFacts ask_without(const Variables& settings) const {
    probe::Probes probes = probes_;
    probes.on_bad_end = {};
    for (const auto& [name, value] : settings) probes.without.push_back(name);
    return gather_probe_facts(probes);
  }

  void blame_one_of(const Variables& suspects) {
    // Variables of network libraries first, then longer names: if UCX_TLS is wrong, ranks also
    // start without OMPI_MCA_pml=ucx; if OMPI_MCA_btl_tcp_if_include is wrong, also without
    // OMPI_MCA_btl=tcp.
    const auto rank_of = [](const std::string& name) {
      const bool is_librarys = name.starts_with("UCX_") || name.starts_with("FI_");
      return std::pair(is_librarys, name.size());
    };
    std::vector<std::pair<std::string, std::string>> ordered(suspects.begin(), suspects.end());
    std::stable_sort(ordered.begin(), ordered.end(), [&](const auto& a, const auto& b) {
      return rank_of(a.first) > rank_of(b.first);
    });
    for (const auto& suspect : ordered) {
      ProbeFacts without_it = ask_without({suspect});
      if (!find_each_other(without_it)) continue;
      evidence_.facts.ranks = std::move(without_it);
      evidence_.facts.launching.blamed = {suspect};
      return;
    }
  }

  /// Replaces the user's launcher by one that doctor finds, if that one starts ranks.
  bool start_otherwise() {
    Facts& facts = evidence_.facts;
    if (facts.launching.chosen_by.empty()) return false;
    Variables without_choice = variables_;
    without_choice.erase(launcher_variable);
    try {
      facts.launching.instead =
          find_launcher(facts.node.family, options_.launcher_hint, without_choice);
    } catch (const Error&) {
      return false;  // the finding about the user's launcher names the package to install
    }
    const Launcher& instead = *facts.launching.instead;
    const bool is_same =
        instead.path == probes_.launcher.path && instead.arguments == probes_.launcher.arguments;
    if (is_same) {
      facts.launching.instead.reset();
      return false;
    }
    const Launcher users = std::exchange(probes_.launcher, instead);
    evidence_.bad_ends.clear();  // they belong to the user's launcher
    ProbeFacts started = gather_probe_facts(probes_);
    if (find_each_other(started)) {
      take_start(std::move(started));
      note_first_in_path(facts.launching, facts.node.family, variables_);
      return true;
    }
    // No better: report the failure of the user's launcher.
    facts.launching.instead.reset();
    probes_.launcher = users;
    return false;
  }

  void try_all() {
    evidence_.gpu_pair = pair_of(evidence_.facts.ranks);
    std::vector<Path> paths;
    for (const Distance distance : distances()) {
      const bool near = distance == Distance::same_node;
      const auto add = [&](const char* transport, Memory memory) {
        paths.push_back({transport, memory, distance});
      };
      for (const char* way : probe::plain_ways) add(way, Memory::host);
      add("mpi", Memory::host);
      if (near) add("shared", Memory::host);
      if (!evidence_.gpu_pair) continue;
      if (near) add("peer", Memory::device);
      add("staged", Memory::device);
      add("mpi", Memory::pinned);
    }
    if (paths.empty()) return;
    for (const char* name : collectives) paths.push_back({name, Memory::host, distances().back()});
    options_.on_progress(fmt::format("trying {} paths", paths.size()));
    try_as_it_is(paths);
    if (!evidence_.gpu_pair) return;
    try_memory_of_programs();
    try_libraries();
    try_gpu_aware();
    give_other_memory_to_mpi();
    try_collectives_on_gpus();
  }

  void try_as_it_is(const std::vector<Path>& paths) {
    for (PathResult& result : probe::try_paths(probes_, {.paths = paths}))
      (is_collective(result.path) ? evidence_.collectives : evidence_.paths)
          .push_back(std::move(result));
  }

  /// Tries memory that programs allocate in other ways, which is packed or copied where it is.
  /// Pairs of one distance suffice.
  void try_memory_of_programs() {
    const Distance distance = distances().front();
    std::vector<Path> paths;
    for (const device::Allocator allocator : other_allocators) {
      if (distance == Distance::same_node)
        paths.push_back({"peer", Memory::device, distance, allocator});
      paths.push_back({"staged", Memory::device, distance, allocator});
    }
    const Path system{"mpi", Memory::system, distance};
    if (const std::string why = no_system_memory(evidence_.facts.ranks); why.empty())
      paths.push_back(system);
    else
      evidence_.paths.push_back({.path = system, .outcome = Outcome::unavailable, .how = why});
    options_.on_progress("trying memory of other allocators");
    try_as_it_is(paths);
  }

  /// Tries transports over libraries. If a library is missing, no job is started.
  void try_libraries() {
    for (const auto& [transport, name] : library_transports) {
      std::vector<Path> paths;
      for (const Distance distance : distances())
        paths.push_back({transport, Memory::device, distance});
      const Library* library = library_named(evidence_.facts, name);
      const std::string why = library == nullptr
                                  ? "the ranks ended before they looked for its library"
                                  : why_not_usable(*library);
      if (!why.empty()) {
        for (const Path& path : paths)
          evidence_.paths.push_back({.path = path, .outcome = Outcome::unavailable, .how = why});
        continue;
      }
      options_.on_progress(fmt::format("trying transport {}", transport));
      for (PathResult& result : try_and_prove(paths, {})) {
        // A failed call of the library is a failure, although no proof of it was kept: it may
        // succeed the next time.
        if (result.is_refused && !may_not_start(evidence_, result.path))
          result.outcome = Outcome::failed;
        evidence_.paths.push_back(std::move(result));
      }
    }
  }

  void give_other_memory_to_mpi() {
    const std::optional<Variables> with = settings_that_work(evidence_);
    if (!with) return;
    std::vector<Path> paths;
    for (const PathResult& result : evidence_.paths)
      if (result.path == Path{"gpu_aware", Memory::device, result.path.distance} &&
          result.with == *with && result.outcome == Outcome::works)
        for (const device::Allocator allocator : other_allocators)
          paths.push_back({"gpu_aware", Memory::device, result.path.distance, allocator});
    options_.on_progress("passing memory of other allocators to MPI");
    for (PathResult& result : probe::try_paths(probes_, {.paths = paths}, *with))
      evidence_.paths.push_back(std::move(result));
  }

  /// Runs even if MPI takes no messages from GPUs: it may have a separate path for collectives.
  void try_collectives_on_gpus() {
    const Distance distance = distances().back();
    std::vector<Path> paths;
    for (const char* name : collectives) paths.push_back({name, Memory::device, distance});
    options_.on_progress("trying collectives on GPU memory");
    for (PathResult& result : probe::try_paths(probes_, {.paths = paths},
                                               settings_that_work(evidence_).value_or(Variables{})))
      evidence_.collectives.push_back(std::move(result));
  }

  /// Lists the distances that occur between the ranks.
  std::vector<Distance> distances() const {
    const std::vector<int> node_of = nodes_of_ranks(evidence_.facts.ranks, evidence_.ranks);
    std::vector<Distance> found;
    for (const Distance distance : {Distance::same_node, Distance::other_node})
      if (first_pair(node_of, distance)) found.push_back(distance);
    return found;
  }

  void try_gpu_aware() {
    options_.on_progress("passing GPU memory to MPI");
    Variables with;
    std::optional<PathResult> failure = try_gpu_aware({Memory::device, Memory::managed}, with);
    if (const Variables more = proof::faster_settings_to_try(in_ranks(variables_));
        !failure && !more.empty())
      try_gpu_aware({Memory::device}, more);
    // Each failure may reveal the next missing setting.
    for (int attempt = 0; attempt < 3 && failure; ++attempt) {
      Variables all = variables_;
      for (const auto& [name, value] : with) all[name] = value;
      const NodeFacts& node = evidence_.facts.node;
      const Variables more =
          proof::settings_to_try(node.mpi, in_ranks(all), failure->signal, ucx_here(node));
      Variables then = all;
      for (const auto& [name, value] : more) then[name] = value;
      // Settings of the launcher itself cannot be overridden.
      if (in_ranks(then) == in_ranks(all)) return;
      for (const auto& [name, value] : more) with[name] = value;
      options_.on_progress("trying other MPI settings");
      failure = try_gpu_aware({Memory::device}, with);
    }
  }

  /// Applies the variables that the launcher's arguments set in ranks.
  Variables in_ranks(const Variables& ours) const {
    return variables_in_ranks(probes_.launcher, ours);
  }

  /// Tries gpu_aware and keeps the proofs. Returns the failure with device memory; nothing if it
  /// works or could not be tried.
  std::optional<PathResult> try_gpu_aware(const std::vector<Memory>& memories,
                                          const Variables& with) {
    std::vector<Path> paths;
    for (const Distance distance : distances())
      for (const Memory memory : memories) paths.push_back({"gpu_aware", memory, distance});
    std::optional<PathResult> failure;
    for (PathResult& result : try_and_prove(paths, with)) {
      if (result.path.memory == Memory::device && is_failure(result.outcome) && !failure)
        failure = result;
      evidence_.paths.push_back(std::move(result));
    }
    return failure;
  }

  /// Tries paths, and keeps the proofs for later runs.
  std::vector<PathResult> try_and_prove(const std::vector<Path>& paths, const Variables& with) {
    Variables all = variables_;
    for (const auto& [name, value] : with) all[name] = value;
    probe::Probes probes = probes_;
    // A limit that healthy ranks may exceed must not produce a proof.
    probes.time_limit =
        std::max<std::chrono::milliseconds>(probes.time_limit, probe::conclusive_start);
    std::vector<PathResult> results = probe::try_paths(probes, {.paths = paths}, with);
    const auto key = proof::environment_key(proof::this_environment(in_ranks(all)));
    std::vector<proof::Proof> proofs;
    for (const PathResult& result : results)
      for (proof::Proof& proof : probe::proofs_of(result, key)) proofs.push_back(std::move(proof));
    Notes notes;  // ignored: a file that cannot be written does not matter here
    if (const auto file = proof::proofs_file(options_.proofs, variables_); file && !proofs.empty())
      proof::keep_proofs(*file, proofs, notes);
    return results;
  }

  const DoctorOptions& options_;
  Variables variables_;
  Evidence evidence_;
  probe::Probes probes_;
};

}  // namespace

Diagnosis examine(const DoctorOptions& options, const Variables& variables) {
  const auto begun = Clock::now();
  Diagnosis diagnosis;
  diagnosis.evidence = Examination(options, variables).run();
  diagnosis.found = findings(diagnosis.evidence);
  diagnosis.start = recommended_start(diagnosis.evidence, current_user());
  diagnosis.seconds = std::chrono::duration<double>(Clock::now() - begun).count();
  return diagnosis;
}

}  // namespace halocline::doctor
