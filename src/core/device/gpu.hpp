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
  int ordinal = 0;   ///< as this process counts them
  std::string uuid;  ///< "GPU-5b3c...": names the device, whatever is hidden from whom
  std::string name;  ///< "NVIDIA H200"
  std::string pci;   ///< "0000:1b:00.0", as in /sys/bus/pci/devices
  std::int64_t memory_bytes = 0;
  int multiprocessors = 0;
  int major = 0, minor = 0;  ///< compute capability
  ComputeMode mode = ComputeMode::shared;
  /// Why its kernels cannot read ordinary host memory; empty if they can.
  std::string no_system_memory;
};

struct Gpus {
  std::vector<Gpu> list;
  std::string none_because;  ///< why the list is empty, and the fix
  std::string driver;        ///< the CUDA version of the driver, "13.0"; empty without one
  std::string runtime = {};  ///< the same of the runtime in this build; empty without one
};

/// Whether this build can use GPUs at all. Does not start the driver.
bool gpus_are_supported();

/// The GPUs that the driver shows to this process, looked up once; never throws. Starts the
/// driver, which must not be done before a fork.
const Gpus& gpus();

/// Why this process can use no GPU, and the fix; nothing if it can use one. As gpus().
std::optional<std::string> no_gpu_because();

/// Whether one GPU's kernels may reach the other's memory: element i * n + j of n * n says it of
/// the GPUs gpus() lists as i and j. Throws device.
std::vector<bool> peer_access();

/// Makes a GPU the current one of the calling thread and starts using it. Throws device with
/// what to do if it cannot be used (exclusive mode, no memory for its context).
void use(const Gpu& gpu);

/// The calling thread's, as CUDA has it. Throws device without a GPU.
const Gpu& current_gpu();

struct GpuMemory {
  std::int64_t free_bytes, total_bytes;
};
/// Of the current GPU.
GpuMemory gpu_memory();

}  // namespace halocline::device
