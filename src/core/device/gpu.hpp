// SPDX-License-Identifier: Apache-2.0
#pragma once
// The GPUs that this process may use.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace halocline::device {

enum class ComputeMode { shared, exclusive, prohibited };

/// The facts of one GPU.
struct Gpu {
  int ordinal = 0;   ///< its number in this process
  std::string uuid;  ///< "GPU-5b3c...": identifies the device independently of visibility
  std::string name;  ///< "NVIDIA H200"
  std::string pci;   ///< "0000:1b:00.0", as in /sys/bus/pci/devices
  std::int64_t memory_bytes = 0;
  int multiprocessors = 0;
  int major = 0, minor = 0;  ///< compute capability
  ComputeMode mode = ComputeMode::shared;
  /// The reason if its kernels cannot read ordinary host memory; empty if they can.
  std::string no_system_memory;
};

struct Gpus {
  std::vector<Gpu> list;
  std::string none_because;  ///< why the list is empty, and the fix
  std::string driver;        ///< the CUDA version of the driver, "13.0"; empty without one
  std::string runtime = {};  ///< likewise of the runtime in this build; empty without one
};

/// Returns whether this build can use GPUs at all. Does not start the driver.
bool gpus_are_supported();

/// Returns the GPUs that the driver shows to this process, looked up once; never throws. Starts the
/// driver, which must not happen before a fork.
const Gpus& gpus();

/// Returns the reason why a driver that fails shows no GPU. `visible_devices`:
/// CUDA_VISIBLE_DEVICES.
std::string reason_of_failure(const std::string& error,
                              const std::optional<std::string>& visible_devices);

/// Returns why this process cannot use any GPU, and the fix; nothing if it can use one. Starts the
/// driver, as gpus() does.
std::optional<std::string> no_gpu_because();

/// Returns whether one GPU's kernels may access the other's memory: element i * n + j of n * n is
/// for the GPUs i and j of gpus(). Throws device.
std::vector<bool> peer_access();

/// Makes a GPU the current one of the calling thread and starts using it. Throws device with the
/// fix if the GPU cannot be used (exclusive mode, no memory for its context).
void use(const Gpu& gpu);

/// Returns CUDA's current GPU of the calling thread. Throws device without a GPU.
const Gpu& current_gpu();

struct GpuMemory {
  std::int64_t free_bytes, total_bytes;
};
/// Applies to the current GPU.
GpuMemory gpu_memory();

}  // namespace halocline::device
