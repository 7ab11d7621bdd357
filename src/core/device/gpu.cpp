// SPDX-License-Identifier: Apache-2.0
#include "device/gpu.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "device/cuda/runtime.hpp"

namespace halocline::device {

const Gpus& gpus() {
  static const Gpus found = [] {
    try {
      return cuda::find_gpus();
    } catch (const std::exception& error) {
      return Gpus{.list = {}, .none_because = error.what(), .driver = {}};
    }
  }();
  return found;
}

std::string reason_of_failure(const std::string& error,
                              const std::optional<std::string>& visible_devices) {
  const std::string failure = fmt::format("the NVIDIA driver fails with {}", error);
  if (!visible_devices) return failure;
  return fmt::format(
      "{}; CUDA_VISIBLE_DEVICES is '{}': list GPUs that are there, each once, or unset "
      "it",
      failure, *visible_devices);
}

std::optional<std::string> no_gpu_because() {
  const Gpus& there = gpus();
  if (there.list.empty()) return there.none_because;
  if (std::any_of(there.list.begin(), there.list.end(),
                  [](const Gpu& gpu) { return gpu.mode != ComputeMode::prohibited; }))
    return std::nullopt;
  return "the compute mode of every GPU prohibits its use ('nvidia-smi -c DEFAULT' changes it)";
}

std::vector<bool> peer_access() {
  std::vector<bool> reaches;
  for (const Gpu& from : gpus().list)
    for (const Gpu& to : gpus().list)
      reaches.push_back(from.ordinal == to.ordinal || cuda::reaches(from, to));
  return reaches;
}

bool gpus_are_supported() { return cuda::is_built_in(); }
void use(const Gpu& gpu) { cuda::use(gpu); }
const Gpu& current_gpu() { return gpus().list.at(static_cast<std::size_t>(cuda::current())); }
GpuMemory gpu_memory() { return cuda::gpu_memory(); }

}  // namespace halocline::device
