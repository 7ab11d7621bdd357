// SPDX-License-Identifier: Apache-2.0
#pragma once
// The GPUs of the emulated machine that this process sees.

#include <vector>

#include "cuda_runtime_api.h"
#include "settings.hpp"

namespace cuda_on_cpu {

class Devices {
 public:
  explicit Devices(const Settings& settings);
  ~Devices();
  Devices(const Devices&) = delete;
  Devices& operator=(const Devices&) = delete;

  int count() const { return static_cast<int>(seen_.size()); }
  /// Returns what stands in the way of any use: no driver, no device.
  cudaError_t status() const;
  int driver_version() const;
  bool valid(int device) const { return device >= 0 && device < count(); }
  /// The device's number in the machine, without CUDA_VISIBLE_DEVICES.
  int index(int device) const { return seen_[static_cast<std::size_t>(device)].index; }
  /// Takes the device into use, as the first call that needs its context does.
  cudaError_t use(int device);

  cudaDeviceProp properties(int device) const;
  /// Returns false for an attribute that is not emulated.
  bool attribute(int* value, cudaDeviceAttr attribute, int device) const;

 private:
  struct Seen {
    int index;  // in the machine, without CUDA_VISIBLE_DEVICES
    bool in_use = false;
    int lock = -1;  // of exclusive mode
  };
  bool lock(Seen& device) const;

  Settings settings_;
  std::vector<Seen> seen_;
};

}  // namespace cuda_on_cpu
