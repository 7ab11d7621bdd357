// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "base/text/format.hpp"
#include "doctor/rules.hpp"
#include "proof/fixes.hpp"

namespace halocline::doctor::rules {
namespace {

using device::ComputeMode;

const Path aware_path{"gpu_aware", Memory::device};
const Path aware_between_nodes{"gpu_aware", Memory::device, Distance::other_node};

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
          {Severity::broken, gpu + " cannot be used", "compute mode: prohibited",
           fmt::format("as administrator: nvidia-smi -i {} -c DEFAULT", one.gpu.ordinal)});
    if (one.gpu.mode == ComputeMode::exclusive)
      found.push_back({Severity::note, gpu + " serves one process at a time",
                       "compute mode: exclusive",
                       "start at most one rank per GPU, or set nvidia-smi -c DEFAULT"});
    if (one.gpu.name.find("MIG") != std::string::npos)
      found.push_back({Severity::note,
                       gpu + " is one part of a GPU (MIG): parts cannot access each other's memory",
                       "the GPU's name", "for several ranks, request whole GPUs"});
  }
  return found;
}

/// Ranks of a node that each see only their own GPU.
Findings hidden_from_each_other(const Evidence& evidence) {
  const auto& ranks = evidence.facts.ranks.machine;
  const bool one_each = std::all_of(ranks.begin(), ranks.end(), [](const machine::RankFacts& rank) {
    return rank.visible.size() == 1;
  });
  if (!one_each || ranks.size() < 2 || ranks.front().node != ranks.back().node ||
      ranks.front().visible.front().gpu.uuid == ranks.back().visible.front().gpu.uuid)
    return {};
  return {{Severity::note, "each rank sees only its own GPU",
           fmt::format("rank {} sees {}, rank {} sees {}", ranks.front().rank,
                       ranks.front().visible.front().gpu.uuid, ranks.back().rank,
                       ranks.back().visible.front().gpu.uuid),
           "let every rank see all GPUs, or they may not reach each other's memory: srun "
           "--gpus-per-node=N --gpu-bind=none, without --gpus-per-task; Halocline assigns each "
           "rank its own"}};
}

/// Returns the last result of gpu_aware with settings of doctor's.
const PathResult* tried(const Evidence& evidence) {
  const PathResult* last = nullptr;
  for (const PathResult& result : evidence.paths)
    if (result.path == aware_path && !result.with.empty()) last = &result;
  return last;
}

std::string fix_of_gpu_aware(const Evidence& evidence, const PathResult& result) {
  const PathResult* attempt = tried(evidence);
  if (attempt != nullptr && attempt->outcome == Outcome::works)
    return fmt::format("set {}: tried here, and every byte arrived", settings_text(attempt->with));
  if (result.outcome == Outcome::out_of_order)
    return "do not use gpu_aware; auto takes peer or staged instead. To find the fault, try "
           "another MPI "
           "or UCX, or the same without its direct path between GPUs (UCX_TLS=^cuda_ipc)";
  const NodeFacts& node = evidence.facts.node;
  Variables all = node.settings;
  if (attempt != nullptr)
    for (const auto& [name, value] : attempt->with) all[name] = value;
  return proof::fix(node.mpi, all, attempt == nullptr ? result.signal : attempt->signal);
}

/// GPU-aware MPI that works, but is faster with a setting that was tried.
Findings held_back(const Evidence& evidence, const PathResult& as_is) {
  constexpr std::int64_t halo_bytes = 64 << 10;
  const PathResult* fixed = fixed_gpu_aware(evidence);
  if (fixed == nullptr) return {};
  return {{Severity::slow, "GPU-aware MPI works, but a setting slows it down",
           fmt::format("64 KiB: {} now, {} with {}", us_text(*us_for(as_is, halo_bytes)),
                       write_number(*us_for(*fixed, halo_bytes), Format::time(1e-6)),
                       settings_text(fixed->with)),
           fmt::format("set {}: tried here, and every byte arrived", settings_text(fixed->with))}};
}

/// GPU-aware MPI that works within a node, but not between nodes.
Findings fails_between_nodes(const Evidence& evidence) {
  const PathResult* far = result_of(evidence, aware_between_nodes);
  if (far == nullptr || far->outcome == Outcome::works) return {};
  const bool is_wrong = far->outcome == Outcome::wrong;
  return {
      {is_wrong ? Severity::broken : Severity::absent,
       fmt::format("{} accepts GPU memory within a node, but {} between nodes",
                   evidence.facts.node.mpi, is_wrong ? "sends wrong bytes" : "not"),
       far->how,
       "check that its network layer supports CUDA: ucx_info -d lists cuda_copy and the network's "
       "transports, the libfabric provider supports FI_HMEM, nvidia_peermem is loaded for "
       "InfiniBand (lsmod); until then transport auto goes through the host between nodes"}};
}

}  // namespace

Findings gpus(const Evidence& evidence) {
  const NodeFacts& node = evidence.facts.node;
  const auto& ranks = evidence.facts.ranks.machine;
  if (node.gpu_files == 0) return {};
  const std::string there = fmt::format("the device files list {} NVIDIA GPU{}", node.gpu_files,
                                        node.gpu_files == 1 ? "" : "s");
  if (!node.built_with_cuda)
    return {{Severity::absent, "this build does not use GPUs", there,
             "build Halocline with nvcc (scripts/setup --for cuda installs it)"}};
  if (ranks.empty()) return {};
  if (visible_to_first(evidence).empty()) {
    const std::string hidden = setting(evidence, "CUDA_VISIBLE_DEVICES");
    const bool on_purpose = evidence.facts.node.settings.contains("CUDA_VISIBLE_DEVICES") &&
                            (hidden.empty() || hidden.starts_with('-'));
    return {{on_purpose ? Severity::note : Severity::broken, "no usable GPU",
             fmt::format("{}, but {}", there, ranks.front().none_because),
             on_purpose ? "unset CUDA_VISIBLE_DEVICES to use them"
             : hidden.empty()
                 ? ""
                 : fmt::format("correct or unset CUDA_VISIBLE_DEVICES, which is '{}'", hidden)}};
  }
  Findings found = modes_of(evidence);
  append(found, hidden_from_each_other(evidence));
  const auto shown = static_cast<int>(visible_to_first(evidence).size());
  if (shown < node.gpu_files && node.settings.contains("CUDA_VISIBLE_DEVICES"))
    found.push_back(
        {Severity::note, fmt::format("this program sees {} of {} GPUs", shown, node.gpu_files),
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
         "check nvidia-smi topo -p2p r; on PCIe, ACS and IOMMU settings may forbid it; "
         "a container must see all GPUs"});
  }
  const PathResult* peer = result_of(evidence, {"peer", Memory::device});
  // The rule `namespaces` reports this as a consequence.
  if (peer != nullptr && peer->outcome == Outcome::unavailable && !separate_memory(evidence))
    found.push_back({Severity::slow,
                     "kernels cannot store into the neighbour's GPU (transport peer)", peer->how,
                     "let every rank see all GPUs (no --gpus-per-task; srun --gpu-bind=none), run "
                     "containers with --ipc=host"});
  return found;
}

Findings gpu_aware(const Evidence& evidence) {
  const PathResult* result = result_of(evidence, aware_path);
  // With one rank per node there is no pair within a node.
  if (result == nullptr) result = result_of(evidence, aware_between_nodes);
  if (result == nullptr) return {};
  if (result->outcome == Outcome::works) {
    Findings found = held_back(evidence, *result);
    append(found, fails_between_nodes(evidence));
    return found;
  }
  const std::string fix = fix_of_gpu_aware(evidence, *result);
  const PathResult* attempt = tried(evidence);
  const std::string seen =
      attempt == nullptr || attempt->outcome == Outcome::works
          ? result->how
          : fmt::format("{}; retried with {}: {}", result->how, settings_text(attempt->with),
                        attempt->how == result->how ? "the same result" : attempt->how);
  const std::string& mpi = evidence.facts.node.mpi;
  if (result->outcome == Outcome::unavailable || result->outcome == Outcome::untried)
    return {{Severity::absent, "GPU-aware MPI could not be tried", result->how, fix}};
  if (result->outcome == Outcome::wrong)
    return {
        {Severity::broken, fmt::format("{} sends wrong bytes from GPU memory", mpi), seen, fix}};
  if (result->outcome == Outcome::out_of_order)
    return {{Severity::broken,
             fmt::format("{} reports messages in GPU memory as complete before they are", mpi),
             seen, fix}};
  if (evidence.facts.ranks.claims_gpu.value_or(false))
    return {{Severity::broken,
             fmt::format("{} falsely claims to accept GPU memory: programs that trust it crash "
                         "or hang",
                         mpi),
             fmt::format("MPIX_Query_cuda_support() returns yes; {}", seen), fix}};
  if (attempt != nullptr && attempt->outcome == Outcome::works)
    return {{Severity::slow, fmt::format("{} accepts GPU memory only with other settings", mpi),
             fmt::format("with the current settings: {}", result->how), fix}};
  return {{Severity::absent, fmt::format("{} is not GPU-aware", mpi), seen, fix}};
}

Findings settings(const Evidence& evidence) {
  const std::string& mpi = evidence.facts.node.mpi;
  const bool is_cray =
      mpi.find("CRAY") != std::string::npos || mpi.find("Cray") != std::string::npos;
  Findings found;
  const auto idle = [&](const char* name, const char* whose) {
    if (!setting(evidence, name).empty())
      found.push_back({Severity::note, fmt::format("{} has no effect here", name),
                       fmt::format("it is for {}; this is {}", whose, mpi), "unset it"});
  };
  if (setting(evidence, "OMPI_MCA_btl_vader_single_copy_mechanism") == "none" &&
      evidence.facts.ranks.direct_reads.value_or(false))
    found.push_back({Severity::note,
                     "MPI copies large messages between ranks of a node twice, without need",
                     "OMPI_MCA_btl_vader_single_copy_mechanism is 'none', though processes may "
                     "read each other's memory here",
                     "unset it"});
  if (!is_cray) idle("MPICH_GPU_SUPPORT_ENABLED", "Cray MPICH");
  if (evidence.facts.node.family == MpiFamily::open_mpi) idle("MPIR_CVAR_ENABLE_GPU", "MPICH");
  return found;
}

}  // namespace halocline::doctor::rules
