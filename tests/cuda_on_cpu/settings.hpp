// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the environment asks of the emulated machine.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace cuda_on_cpu {

enum class Order { eager, lazy, random, thread };
enum class Mode { shared, exclusive, prohibited };
enum class Driver { good, absent, old, none };

struct Settings {
  int devices = 1;                        ///< CUDA_ON_CPU_DEVICES
  std::size_t memory_bytes = 1ull << 30;  ///< CUDA_ON_CPU_MEMORY_BYTES, of each device
  Order order = Order::lazy;              ///< CUDA_ON_CPU_ORDER
  std::uint64_t seed = 0;                 ///< of random:SEED
  Mode mode = Mode::shared;               ///< CUDA_ON_CPU_COMPUTE_MODE
  Driver driver = Driver::good;           ///< CUDA_ON_CPU_DRIVER
  bool ipc = true;                        ///< CUDA_ON_CPU_IPC, unless absent
  bool vmm = true;                        ///< CUDA_ON_CPU_VMM, unless absent
  bool p2p = true;                        ///< CUDA_ON_CPU_P2P, unless absent
  bool pageable = true;                   ///< CUDA_ON_CPU_PAGEABLE
  bool host_readable = false;             ///< CUDA_ON_CPU_DEVICE_MEMORY=host-readable
  bool launch_blocking = false;           ///< CUDA_LAUNCH_BLOCKING
  std::optional<std::string> visible;     ///< CUDA_VISIBLE_DEVICES
};

/// Reads the environment; ends the program at a value it does not know.
Settings read_settings();

}  // namespace cuda_on_cpu
