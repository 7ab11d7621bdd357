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

/// How the ranks' GPUs lie to each other; nothing if they see none.
std::optional<proof::GpuPair> pair_of(const RankFacts& ranks) {
  std::set<std::string> uuids;
  for (const machine::RankFacts& rank : ranks.machine) {
    if (rank.visible.empty()) return std::nullopt;
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
    evidence_.ranks = options_.ranks;
    Facts& facts = evidence_.facts;
    facts.node = read_node(variables_);
    facts.launching =
        read_launching(options_.launcher, options_.launcher_hint, facts.node.family, variables_);
    if (!facts.launching.launcher) return std::move(evidence_);
    probes_ = {.launcher = *facts.launching.launcher,
               .program = options_.program,
               .ranks = options_.ranks,
               .time_limit = options_.time_limit};
    options_.says(fmt::format("asking {} ranks what they see", options_.ranks));
    facts.ranks = ask_ranks(probes_);
    if (!find_each_other()) start_otherwise();
    if (find_each_other()) try_all();
    return std::move(evidence_);
  }

 private:
  bool find_each_other() const {
    const auto& ranks = evidence_.facts.ranks.ranks;
    return !ranks.empty() && ranks.front().size == options_.ranks;
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
    std::vector<Path> paths{
        {plain_mpi, Memory::host}, {"mpi", Memory::host}, {"shared", Memory::host}};
    if (evidence_.gpu_pair)
      paths.insert(paths.end(),
                   {{"peer", Memory::device}, {"staged", Memory::device}, {"mpi", Memory::pinned}});
    options_.says(fmt::format("trying {} paths", paths.size()));
    evidence_.paths = try_paths(probes_, paths, proof::GpuChoice::in_turn);
    if (evidence_.gpu_pair) try_gpu_aware();
  }

  void try_gpu_aware() {
    options_.says("giving a GPU's memory to MPI");
    Variables with;
    std::string how = prove_gpu_aware({Memory::device, Memory::managed}, with);
    if (const Variables more = proof::faster_settings_to_try(variables_);
        how.empty() && !more.empty())
      prove_gpu_aware({Memory::device}, more);
    // Each failure may show what else is missing.
    for (int attempt = 0; attempt < 3 && !how.empty(); ++attempt) {
      Variables all = variables_;
      for (const auto& [name, value] : with) all[name] = value;
      const NodeFacts& node = evidence_.facts.node;
      const Variables more = proof::settings_to_try(node.mpi, all, how, ucx_here(node));
      if (more.empty()) return;
      for (const auto& [name, value] : more) with[name] = value;
      options_.says("trying other settings of MPI");
      how = prove_gpu_aware({Memory::device}, with);
    }
  }

  /// Proves and times gpu_aware. Returns how it failed with device memory; empty if it works, or
  /// could not be tried.
  std::string prove_gpu_aware(const std::vector<Memory>& memories, const Variables& with) {
    Variables all = variables_;
    for (const auto& [name, value] : with) all[name] = value;
    const proof::SiblingAnswer answer =
        proof::prove_in_sibling({.launcher = probes_.launcher,
                                 .program = options_.program,
                                 .key = proof::environment_key(proof::this_environment(all)),
                                 .memories = memories,
                                 .with = with,
                                 .ranks = options_.ranks,
                                 .time_limit = probes_.time_limit});
    Notes notes;  // a file that cannot be written is no matter here
    if (const auto file = proof::proofs_file(options_.proofs, variables_))
      proof::keep_proofs(*file, answer.proofs, notes);

    std::string how;
    for (const proof::Proof& proof : answer.proofs) {
      PathResult result{.path = {"gpu_aware", proof.memory}, .with = with};
      const bool is_wrong = proof.how.find("did not arrive as sent") != std::string::npos;
      result.outcome = proof.outcome == proof::Outcome::works ? Outcome::works
                       : is_wrong                             ? Outcome::wrong
                                                              : Outcome::failed;
      result.how = proof.how;
      if (proof.memory == Memory::device) {
        how = proof.how;
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
