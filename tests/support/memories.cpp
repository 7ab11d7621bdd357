// SPDX-License-Identifier: Apache-2.0
#include "support/memories.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/process/environment.hpp"
#include "device/gpu.hpp"
#include "support/ranks.hpp"

namespace halocline::test {
namespace {

std::optional<std::string> start_using_a_gpu() {
  const device::Gpus& gpus = device::gpus();
  if (gpus.list.empty()) return gpus.none_because;
  device::use(gpus.list[static_cast<std::size_t>(rank()) % gpus.list.size()]);
  return std::nullopt;
}

/// True if emulated GPUs put their work off: kernels that wait for another rank's would hang it
/// while their host is in MPI.
bool kernels_come_late() {
  const std::string order = environment("CUDA_ON_CPU_ORDER").value_or("");
  return order == "lazy" || order.starts_with("random");
}

/// True if an MPI that is given a GPU's memory reads it instead of dying.
bool mpi_takes_gpu_memory() {
  return environment("CUDA_ON_CPU_DEVICE_MEMORY") == "host-readable" || is_required("gpu_aware");
}

}  // namespace

const std::optional<std::string>& no_gpu() {
  static const std::optional<std::string> why = start_using_a_gpu();
  return why;
}

bool each_has_a_gpu() { return device::gpus().list.size() >= static_cast<std::size_t>(ranks()); }

std::optional<std::string> no_memory(Memory memory) {
  if (memory == Memory::host) return std::nullopt;
  if (no_gpu()) return no_gpu();
  if (memory != Memory::system) return std::nullopt;
  for (const device::Gpu& gpu : device::gpus().list)
    if (!gpu.no_system_memory.empty()) return gpu.no_system_memory;
  return std::nullopt;
}

std::vector<Memory> memories_here() {
  std::vector<Memory> here;
  for (const Memory memory : all_memories)
    if (!no_memory(memory)) here.push_back(memory);
  return here;
}

std::vector<Memory> gpu_memories_here() {
  std::vector<Memory> here = memories_here();
  std::erase(here, Memory::host);
  return here;
}

std::optional<std::string> not_testable(const transport::Transport& transport, Memory memory) {
  if (transport.capabilities().needs_no_channel) return "it has no channels";
  if (auto why = no_memory(memory)) return why;
  std::optional<std::string> why;
  for (const transport::Pair pair : transport::pairs) {
    why = transport.unavailable(pair, memory);
    if (!why) break;
  }
  if (why) return why;
  const bool is_library = transport.capabilities().carrier == transport::Carrier::stream;
  if (is_library) {
    if (auto missing = transport.missing_here()) {
      if (environment("CUDA_ON_CPU_DEVICES"))  // which has stand-ins for libraries
        throw Error(ErrorKind::internal, *missing);
      return missing;
    }
    if (std::ssize(device::gpus().list) < ranks() && !environment("CUDA_ON_CPU_DEVICES"))
      return "it takes one rank for each GPU";
  }
  const bool waits_in_kernels = is_library || transport.name() == "peer";
  if (waits_in_kernels && kernels_come_late())
    return "its kernels wait for those of other ranks, which CUDA_ON_CPU_ORDER puts off";
  if (transport.name() == "gpu_aware" && !mpi_takes_gpu_memory())
    return "an MPI that cannot take a GPU's memory would end the program; "
           "CUDA_ON_CPU_DEVICE_MEMORY=host-readable lets the emulation's be read, and with a GPU "
           "HALOCLINE_REQUIRE=gpu_aware says that this MPI takes it";
  return std::nullopt;
}

bool is_required(std::string_view name) {
  const std::string list = "," + environment("HALOCLINE_REQUIRE").value_or("") + ",";
  return list.find("," + std::string(name) + ",") != std::string::npos;
}

void need_gpu() {
  if (!no_gpu()) return;
  if (is_required("gpu")) FAIL() << *no_gpu();
  GTEST_SKIP() << *no_gpu();
}

}  // namespace halocline::test
