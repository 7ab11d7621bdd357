// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "doctor/rules.hpp"
#include "proof/remedy.hpp"
#include "report/format.hpp"

namespace halocline::doctor::rules {
namespace {

using device::ComputeMode;

const Path aware_path{"gpu_aware", Memory::device};
const Path aware_between_nodes{"gpu_aware", Memory::device, Distance::other_node};

std::string setting(const Evidence& evidence, const char* name) {
  const auto found = evidence.facts.node.settings.find(name);
  return found == evidence.facts.node.settings.end() ? "" : found->second;
}

const std::vector<machine::VisibleGpu>& visible_to_first(const Evidence& evidence) {
  static const std::vector<machine::VisibleGpu> none;
  const auto& ranks = evidence.facts.ranks.machine;
  return ranks.empty() ? none : ranks.front().visible;
}

Findings modes_of(const Evidence& evidence) {
  Findings found;
  for (const machine::VisibleGpu& one : visible_to_first(evidence)) {
    const std::string gpu = fmt::format("GPU {} ({})", one.gpu.ordinal, one.gpu.name);
    if (one.gpu.mode == ComputeMode::prohibited)
      found.push_back(
          {Severity::broken, gpu + " may not be used", "its compute mode: prohibited",
           fmt::format("as administrator: nvidia-smi -i {} -c DEFAULT", one.gpu.ordinal)});
    if (one.gpu.mode == ComputeMode::exclusive)
      found.push_back({Severity::note, gpu + " is for one process at a time",
                       "its compute mode: exclusive",
                       "start one rank for each GPU, no more; or nvidia-smi -c DEFAULT"});
    if (one.gpu.name.find("MIG") != std::string::npos)
      found.push_back({Severity::note,
                       gpu + " is a part of a GPU: parts do not reach each other's memory",
                       "its name", "for several ranks ask for whole GPUs"});
  }
  return found;
}

/// Ranks of a node that see one GPU each, and not the same.
Findings hidden_from_each_other(const Evidence& evidence) {
  const auto& ranks = evidence.facts.ranks.machine;
  const bool one_each = std::all_of(ranks.begin(), ranks.end(), [](const machine::RankFacts& rank) {
    return rank.visible.size() == 1;
  });
  if (!one_each || ranks.size() < 2 || ranks.front().node != ranks.back().node ||
      ranks.front().visible.front().gpu.uuid == ranks.back().visible.front().gpu.uuid)
    return {};
  return {{Severity::note, "each rank is shown its own GPU only",
           fmt::format("rank {} sees {}, rank {} sees {}", ranks.front().rank,
                       ranks.front().visible.front().gpu.uuid, ranks.back().rank,
                       ranks.back().visible.front().gpu.uuid),
           "show every rank all of them, or GPUs may not reach each other's memory: srun "
           "--gpus-per-node=N --gpu-bind=none, no --gpus-per-task; Halocline gives each rank its "
           "own"}};
}

/// The last result of gpu_aware with settings of doctor's own.
const PathResult* tried(const Evidence& evidence) {
  const PathResult* last = nullptr;
  for (const PathResult& result : evidence.paths)
    if (result.path == aware_path && !result.with.empty()) last = &result;
  return last;
}

std::string cure_of_gpu_aware(const Evidence& evidence, const PathResult& result) {
  const PathResult* attempt = tried(evidence);
  if (attempt != nullptr && attempt->outcome == Outcome::works)
    return fmt::format("set {}: tried here, and every byte arrived", settings_text(attempt->with));
  if (result.outcome == Outcome::out_of_order)
    return "leave it out, as auto does now (peer or staged); another MPI or UCX, or the same "
           "without its "
           "direct way between GPUs (UCX_TLS=^cuda_ipc), shows where the fault is";
  const NodeFacts& node = evidence.facts.node;
  Variables all = node.settings;
  if (attempt != nullptr)
    for (const auto& [name, value] : attempt->with) all[name] = value;
  return proof::remedy(node.mpi, all, attempt == nullptr ? result.how : attempt->how);
}

/// GPU-aware MPI that works, and is faster with a setting that was tried.
Findings held_back(const Evidence& evidence, const PathResult& as_is) {
  constexpr std::int64_t halo_bytes = 64 << 10;
  const PathResult* cured = cured_gpu_aware(evidence);
  if (cured == nullptr) return {};
  return {{Severity::slow, "GPU-aware MPI works, and is held back by a setting",
           fmt::format("64 KiB: {} as it is, {} with {}",
                       write_number(*us_for(as_is, halo_bytes), Format::time(1e-6)),
                       write_number(*us_for(*cured, halo_bytes), Format::time(1e-6)),
                       settings_text(cured->with)),
           fmt::format("set {}: tried here, and every byte arrived", settings_text(cured->with))}};
}

/// GPU-aware MPI that works within a node, and fails between nodes.
Findings fails_between_nodes(const Evidence& evidence) {
  const PathResult* far = result_of(evidence, aware_between_nodes);
  if (far == nullptr || far->outcome == Outcome::works) return {};
  const bool is_wrong = far->outcome == Outcome::wrong;
  return {
      {is_wrong ? Severity::broken : Severity::absent,
       fmt::format("{} takes a GPU's memory within a node, and {} between nodes",
                   evidence.facts.node.mpi, is_wrong ? "sends wrong bytes" : "not"),
       far->how,
       "its network part must know CUDA: UCX lists cuda_copy and the network's ways in ucx_info "
       "-d, libfabric's provider takes FI_HMEM; nvidia_peermem is loaded for InfiniBand "
       "(lsmod); transport auto goes through the host there meanwhile"}};
}

}  // namespace

Findings gpus(const Evidence& evidence) {
  const NodeFacts& node = evidence.facts.node;
  const auto& ranks = evidence.facts.ranks.machine;
  if (node.gpu_files == 0) return {};
  const std::string there = fmt::format("there {} {} NVIDIA GPU{}, by the device files",
                                        node.gpu_files == 1 ? "is" : "are", node.gpu_files,
                                        node.gpu_files == 1 ? "" : "s");
  if (!node.built_with_cuda)
    return {{Severity::absent, "this build does not use GPUs", there,
             "build Halocline where nvcc is (scripts/setup --for cuda brings it)"}};
  if (ranks.empty()) return {};
  if (visible_to_first(evidence).empty()) {
    const std::string hidden = setting(evidence, "CUDA_VISIBLE_DEVICES");
    const bool on_purpose = evidence.facts.node.settings.contains("CUDA_VISIBLE_DEVICES") &&
                            (hidden.empty() || hidden.starts_with('-'));
    return {{on_purpose ? Severity::note : Severity::broken, "no GPU can be used",
             fmt::format("{}, but {}", there, ranks.front().none_because),
             on_purpose ? "unset CUDA_VISIBLE_DEVICES to use them" : ""}};
  }
  Findings found = modes_of(evidence);
  for (Finding& finding : hidden_from_each_other(evidence)) found.push_back(std::move(finding));
  const auto shown = static_cast<int>(visible_to_first(evidence).size());
  if (shown < node.gpu_files && node.settings.contains("CUDA_VISIBLE_DEVICES"))
    found.push_back(
        {Severity::note,
         fmt::format("{} of {} GPUs are shown to this program", shown, node.gpu_files),
         fmt::format("CUDA_VISIBLE_DEVICES is '{}'", setting(evidence, "CUDA_VISIBLE_DEVICES")),
         "unset it to use all: Halocline gives each rank a GPU of its own"});
  return found;
}

Findings reach_of_gpus(const Evidence& evidence) {
  const auto& gpus = visible_to_first(evidence);
  const std::vector<bool>& reaches = evidence.facts.ranks.peer_access;
  Findings found;
  const auto missing = std::find(reaches.begin(), reaches.end(), false);
  if (gpus.size() > 1 && reaches.size() == gpus.size() * gpus.size() && missing != reaches.end()) {
    const auto at = static_cast<std::size_t>(missing - reaches.begin());
    found.push_back(
        {Severity::slow, "not all GPUs of this node reach each other's memory",
         fmt::format("cudaDeviceCanAccessPeer: GPU {} to GPU {}: no",
                     gpus[at / gpus.size()].gpu.ordinal, gpus[at % gpus.size()].gpu.ordinal),
         "see nvidia-smi topo -p2p r; on PCIe, ACS and IOMMU settings may forbid it; "
         "a container needs all GPUs"});
  }
  const PathResult* peer = result_of(evidence, {"peer", Memory::device});
  if (peer != nullptr && peer->outcome == Outcome::unavailable)
    found.push_back({Severity::slow,
                     "kernels cannot store into the neighbour's GPU (transport peer)", peer->how,
                     "show every rank all GPUs (no --gpus-per-task; srun --gpu-bind=none), run "
                     "containers with --ipc=host"});
  return found;
}

Findings gpu_aware(const Evidence& evidence) {
  const PathResult* result = result_of(evidence, aware_path);
  // Nodes may have one rank each.
  if (result == nullptr) result = result_of(evidence, aware_between_nodes);
  if (result == nullptr) return {};
  if (result->outcome == Outcome::works) {
    Findings found = held_back(evidence, *result);
    for (Finding& finding : fails_between_nodes(evidence)) found.push_back(std::move(finding));
    return found;
  }
  const std::string cure = cure_of_gpu_aware(evidence, *result);
  const PathResult* attempt = tried(evidence);
  const std::string seen =
      attempt == nullptr || attempt->outcome == Outcome::works
          ? result->how
          : fmt::format("{}; tried again with {}: {}", result->how, settings_text(attempt->with),
                        attempt->how == result->how ? "the same" : attempt->how);
  const std::string& mpi = evidence.facts.node.mpi;
  if (result->outcome == Outcome::unavailable || result->outcome == Outcome::untried)
    return {{Severity::absent, "GPU-aware MPI could not be tried", result->how, cure}};
  if (result->outcome == Outcome::wrong)
    return {{Severity::broken, fmt::format("{} sends wrong bytes when given a GPU's memory", mpi),
             seen, cure}};
  if (result->outcome == Outcome::out_of_order)
    return {{Severity::broken,
             fmt::format("{} says that messages in a GPU's memory are done before they are", mpi),
             seen, cure}};
  if (evidence.facts.ranks.claims_gpu.value_or(false))
    return {{Severity::broken,
             fmt::format("{} claims to take a GPU's memory, falsely: programs that trust it crash "
                         "or hang",
                         mpi),
             fmt::format("MPIX_Query_cuda_support() says yes; {}", seen), cure}};
  if (attempt != nullptr && attempt->outcome == Outcome::works)
    return {{Severity::slow, fmt::format("{} takes a GPU's memory only with other settings", mpi),
             fmt::format("as it is: {}", result->how), cure}};
  return {{Severity::absent, fmt::format("{} is not GPU-aware", mpi), seen, cure}};
}

Findings settings(const Evidence& evidence) {
  const std::string& mpi = evidence.facts.node.mpi;
  const auto says = [&](std::string_view word) { return mpi.find(word) != std::string::npos; };
  const bool is_cray = says("CRAY") || says("Cray");
  Findings found;
  const auto idle = [&](const char* name, const char* whose) {
    if (!setting(evidence, name).empty())
      found.push_back({Severity::note, fmt::format("{} does nothing here", name),
                       fmt::format("it is for {}; this is {}", whose, mpi), "leave it out"});
  };
  if (setting(evidence, "OMPI_MCA_btl_vader_single_copy_mechanism") == "none" &&
      evidence.facts.ranks.direct_reads.value_or(false))
    found.push_back({Severity::note,
                     "MPI copies large messages between ranks of a node twice, and need not",
                     "OMPI_MCA_btl_vader_single_copy_mechanism is 'none', though processes may "
                     "read each other's memory here",
                     "unset it"});
  if (!is_cray) idle("MPICH_GPU_SUPPORT_ENABLED", "Cray MPICH");
  if (evidence.facts.node.family == MpiFamily::open_mpi) idle("MPIR_CVAR_ENABLE_GPU", "MPICH");
  return found;
}

}  // namespace halocline::doctor::rules
