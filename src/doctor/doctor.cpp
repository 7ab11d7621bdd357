#include "doctor/doctor.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <halocline/error.hpp>

#include "base/notes.hpp"
#include "base/recorder.hpp"
#include "doctor/node_facts.hpp"
#include "doctor/probes.hpp"
#include "doctor/ring.hpp"
#include "launch/settings.hpp"
#include "proof/remedy.hpp"
#include "proof/sibling.hpp"
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

/// How the GPUs of a node's ranks lie to each other; nothing if some ranks see none.
std::optional<proof::GpuPair> pair_of(const RankFacts& ranks) {
  std::set<std::string> uuids;
  for (const machine::RankFacts& rank : ranks.machine) {
    if (rank.visible.empty()) return std::nullopt;
    if (rank.node != ranks.machine.front().node) continue;
    for (const machine::VisibleGpu& one : rank.visible) uuids.insert(one.gpu.uuid);
  }
  if (uuids.empty()) return std::nullopt;
  return uuids.size() > 1 ? proof::GpuPair::same_node : proof::GpuPair::same_gpu;
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
    // As many as the user says are wherever the launcher puts them.
    if (options_.ranks) evidence_.nodes = 1;
    facts.launching =
        read_launching(options_.launcher, options_.launcher_hint, facts.node.family, variables_);
    if (!facts.launching.launcher) return std::move(evidence_);
    probes_ = {.launcher = *facts.launching.launcher,
               .program = options_.program,
               .ranks = evidence_.ranks,
               .nodes = evidence_.nodes,
               .time_limit = options_.time_limit,
               .on_bad_end = [this](const std::string& how) { evidence_.bad_ends.push_back(how); }};
    facts.node.settings = settings_among(in_ranks(variables_));
    options_.says(fmt::format("asking {} ranks what they see", evidence_.ranks));
    facts.ranks = ask_ranks(probes_);
    if (!find_each_other()) start_otherwise();
    if (find_each_other()) try_all();
    std::stable_sort(
        evidence_.paths.begin(), evidence_.paths.end(),
        [](const PathResult& a, const PathResult& b) { return a.path.distance < b.path.distance; });
    return std::move(evidence_);
  }

 private:
  bool find_each_other() const {
    const auto& ranks = evidence_.facts.ranks.ranks;
    return !ranks.empty() && ranks.front().size == evidence_.ranks;
  }

  /// Takes a launcher of our own choice in the place of the user's, if that can be seen to be at
  /// fault.
  void start_otherwise() {
    Facts& facts = evidence_.facts;
    if (facts.launching.chosen_by.empty()) return;
    Variables without_choice = variables_;
    without_choice.erase(launcher_variable);
    try {
      facts.launching.instead =
          find_launcher(facts.node.family, options_.launcher_hint, without_choice);
    } catch (const Error&) {
      return;  // the finding about the user's launcher says what to install
    }
    if (facts.launching.instead->path == probes_.launcher.path) return;
    probes_.launcher = *facts.launching.instead;
    facts.misstarted = std::move(facts.ranks);
    facts.ranks = ask_ranks(probes_);
  }

  void try_all() {
    evidence_.gpu_pair = pair_of(evidence_.facts.ranks);
    std::vector<Path> paths;
    for (const Distance distance : distances()) {
      const bool near = distance == Distance::same_node;
      const auto add = [&](const char* transport, Memory memory) {
        paths.push_back({transport, memory, distance});
      };
      add(plain_mpi, Memory::host);
      add("mpi", Memory::host);
      if (near) add("shared", Memory::host);
      if (!evidence_.gpu_pair) continue;
      if (near) add("peer", Memory::device);
      add("staged", Memory::device);
      add("mpi", Memory::pinned);
    }
    options_.says(fmt::format("trying {} paths", paths.size()));
    evidence_.paths = try_paths(probes_, paths, proof::GpuChoice::in_turn);
    if (evidence_.gpu_pair) try_gpu_aware();
  }

  /// Those that there are between the ranks.
  std::vector<Distance> distances() const {
    std::vector<int> node_of;
    for (const machine::RankFacts& rank : evidence_.facts.ranks.machine)
      node_of.push_back(rank.node);
    std::vector<Distance> found;
    for (const Distance distance : {Distance::same_node, Distance::other_node})
      if (first_pair(node_of, distance)) found.push_back(distance);
    return found;
  }

  void try_gpu_aware() {
    options_.says("giving a GPU's memory to MPI");
    Variables with;
    std::string how = prove_gpu_aware({Memory::device, Memory::managed}, with);
    if (const Variables more = proof::faster_settings_to_try(in_ranks(variables_));
        how.empty() && !more.empty())
      prove_gpu_aware({Memory::device}, more);
    // Each failure may show what else is missing.
    for (int attempt = 0; attempt < 3 && !how.empty(); ++attempt) {
      Variables all = variables_;
      for (const auto& [name, value] : with) all[name] = value;
      const NodeFacts& node = evidence_.facts.node;
      const Variables more = proof::settings_to_try(node.mpi, in_ranks(all), how, ucx_here(node));
      if (more.empty()) return;
      for (const auto& [name, value] : more) with[name] = value;
      options_.says("trying other settings of MPI");
      how = prove_gpu_aware({Memory::device}, with);
    }
  }

  /// The launcher's own arguments may set variables of ranks.
  Variables in_ranks(const Variables& ours) const {
    return variables_in_ranks(probes_.launcher, ours);
  }

  /// Proves and times gpu_aware. Returns how it failed with device memory; empty if it works, or
  /// could not be tried.
  std::string prove_gpu_aware(const std::vector<Memory>& memories, const Variables& with) {
    Variables all = variables_;
    for (const auto& [name, value] : with) all[name] = value;
    const proof::SiblingAnswer answer = proof::prove_in_sibling(
        {.launcher = probes_.launcher,
         .program = options_.program,
         .key = proof::environment_key(proof::this_environment(in_ranks(all))),
         .memories = memories,
         .with = with,
         .ranks = evidence_.ranks,
         .nodes = evidence_.nodes,
         .time_limit = probes_.time_limit});
    evidence_.bad_ends.insert(evidence_.bad_ends.end(), answer.bad_ends.begin(),
                              answer.bad_ends.end());
    Notes notes;  // a file that cannot be written is no matter here
    if (const auto file = proof::proofs_file(options_.proofs, variables_))
      proof::keep_proofs(*file, answer.proofs, notes);

    std::string how;
    for (const proof::Proof& proof : answer.proofs) {
      const auto distance =
          proof.pair == proof::GpuPair::other_node ? Distance::other_node : Distance::same_node;
      PathResult result{.path = {"gpu_aware", proof.memory, distance}, .with = with};
      // Ranks that share a GPU and ranks that do not have been one probe.
      if (was_tried(result)) continue;
      const bool is_wrong = proof.how.find("did not arrive as sent") != std::string::npos;
      result.outcome = proof.outcome == proof::Outcome::works ? Outcome::works
                       : is_wrong                             ? Outcome::wrong
                                                              : Outcome::failed;
      result.how = proof.how;
      if (proof.memory == Memory::device) {
        if (how.empty()) how = proof.how;
        if (result.outcome == Outcome::works) result = timed(result);
      }
      evidence_.paths.push_back(std::move(result));
    }
    if (answer.proofs.empty()) {
      PathResult result;
      result.path = {"gpu_aware", Memory::device};
      result.outcome = Outcome::unavailable;
      result.how = fmt::format("{}", fmt::join(answer.not_tried, "; "));
      result.with = with;
      evidence_.paths.push_back(std::move(result));
    }
    return how;
  }

  bool was_tried(const PathResult& result) const {
    return std::any_of(evidence_.paths.begin(), evidence_.paths.end(), [&](const PathResult& one) {
      return one.path == result.path && one.with == result.with;
    });
  }

  PathResult timed(const PathResult& proved) const {
    const std::vector<PathResult> results =
        try_paths(probes_, {proved.path}, proof::GpuChoice::in_turn, proved.with);
    return results.empty() ? proved : results.front();
  }

  const DoctorOptions& options_;
  const Variables& variables_;
  Evidence evidence_;
  Probes probes_;
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
