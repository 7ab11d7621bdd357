// SPDX-License-Identifier: Apache-2.0
#include "devices.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include <sys/file.h>

namespace cuda_on_cpu {
namespace {

constexpr int kVersion = CUDART_VERSION;
constexpr int kOldVersion = 12020;

// The same on every run and every node: tests may write them down.
cudaUUID_t uuid_of(int index) {
  cudaUUID_t uuid{};
  const unsigned char bytes[16] = {0xc0, 0xda, 0x0c, 0x90, 0x00, 0x00, 0x40, 0x00,
                                   0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00};
  std::memcpy(uuid.bytes, bytes, sizeof bytes);
  uuid.bytes[14] = static_cast<char>(index >> 8);
  uuid.bytes[15] = static_cast<char>(index);
  return uuid;
}

/// "GPU-c0da0c90-0000-4000-8000-000000000000", as nvidia-smi writes it.
std::string text(const cudaUUID_t& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    text += digits;
  }
  return text;
}

/// The device that one word of CUDA_VISIBLE_DEVICES means, or -1: an index, or the beginning of
/// one device's UUID.
int parse(std::string_view word, int devices) {
  int index = -1;
  if (word.starts_with("GPU-")) {
    for (int i = 0; i < devices; ++i) {
      if (!text(uuid_of(i)).starts_with(word)) continue;
      if (index != -1) return -1;
      index = i;
    }
    return index;
  }
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), index);
  const bool whole = error == std::errc{} && end == word.data() + word.size();
  return whole && index < devices ? index : -1;
}

std::string_view trimmed(std::string_view word) {
  const auto begin = word.find_first_not_of(' ');
  return begin == word.npos ? "" : word.substr(begin, word.find_last_not_of(' ') + 1 - begin);
}

/// As CUDA does: the list ends at the first word that means no device.
std::vector<int> visible(const Settings& settings) {
  std::vector<int> indices;
  if (!settings.visible) {
    for (int i = 0; i < settings.devices; ++i) indices.push_back(i);
    return indices;
  }
  std::string_view rest = *settings.visible;
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    const int index = parse(trimmed(rest.substr(0, comma)), settings.devices);
    if (index < 0 || std::count(indices.begin(), indices.end(), index)) break;
    indices.push_back(index);
    rest = comma == rest.npos ? "" : rest.substr(comma + 1);
  }
  return indices;
}

}  // namespace

Devices::Devices(const Settings& settings) : settings_(settings) {
  if (settings.driver != Driver::good) return;
  for (const int index : visible(settings)) seen_.push_back({index});
}

Devices::~Devices() {
  for (const Seen& device : seen_) {
    if (device.lock >= 0) close(device.lock);
  }
}

cudaError_t Devices::status() const {
  if (settings_.driver == Driver::absent || settings_.driver == Driver::old) {
    return cudaErrorInsufficientDriver;
  }
  return seen_.empty() ? cudaErrorNoDevice : cudaSuccess;
}

int Devices::driver_version() const {
  if (settings_.driver == Driver::absent) return 0;
  return settings_.driver == Driver::old ? kOldVersion : kVersion;
}

cudaError_t Devices::use(int ordinal) {
  if (!valid(ordinal)) return cudaErrorInvalidDevice;
  Seen& device = seen_[static_cast<std::size_t>(ordinal)];
  if (device.in_use) return cudaSuccess;
  if (settings_.mode == Mode::prohibited) return cudaErrorDevicesUnavailable;
  if (settings_.mode == Mode::exclusive && !lock(device)) return cudaErrorDevicesUnavailable;
  device.in_use = true;
  return cudaSuccess;
}

// The kernel gives the lock back when the process ends, however it ends.
bool Devices::lock(Seen& device) const {
  const std::string path =
      "/tmp/cuda_on_cpu." + std::to_string(getuid()) + "." + std::to_string(device.index) + ".lock";
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return false;
  if (flock(file, LOCK_EX | LOCK_NB) != 0) {
    close(file);
    return false;
  }
  device.lock = file;
  return true;
}

cudaDeviceProp Devices::properties(int ordinal) const {
  const int index = this->index(ordinal);
  cudaDeviceProp is{};
  std::snprintf(is.name, sizeof is.name, "CUDA on CPU");
  is.uuid = uuid_of(index);
  is.totalGlobalMem = settings_.memory_bytes;
  is.sharedMemPerBlock = 48 * 1024;
  is.sharedMemPerMultiprocessor = 228 * 1024;
  is.sharedMemPerBlockOptin = 227 * 1024;
  is.memPitch = 0x7fffffff;
  is.regsPerBlock = 65536;
  is.warpSize = 32;
  is.maxThreadsPerBlock = 1024;
  is.maxThreadsDim[0] = is.maxThreadsDim[1] = 1024;
  is.maxThreadsDim[2] = 64;
  is.maxGridSize[0] = 0x7fffffff;
  is.maxGridSize[1] = is.maxGridSize[2] = 65535;
  is.major = 9;
  is.multiProcessorCount = 4;
  is.canMapHostMemory = is.concurrentKernels = is.unifiedAddressing = 1;
  is.pciBusID = 0x1b + index;
  is.asyncEngineCount = 2;
  is.l2CacheSize = 4 << 20;
  is.maxThreadsPerMultiProcessor = 2048;
  is.maxBlocksPerMultiProcessor = 32;
  is.cooperativeLaunch = 1;
  is.streamPrioritiesSupported = is.managedMemory = is.concurrentManagedAccess = 1;
  is.memoryPoolsSupported = 1;
  is.pageableMemoryAccess = settings_.pageable;
  return is;
}

bool Devices::attribute(int* value, cudaDeviceAttr attribute, int device) const {
  const cudaDeviceProp is = properties(device);
  // clang-format off
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock: *value = is.maxThreadsPerBlock; return true;
    case cudaDevAttrWarpSize: *value = is.warpSize; return true;
    case cudaDevAttrMultiProcessorCount: *value = is.multiProcessorCount; return true;
    case cudaDevAttrPciBusId: *value = is.pciBusID; return true;
    case cudaDevAttrPciDeviceId: *value = is.pciDeviceID; return true;
    case cudaDevAttrL2CacheSize: *value = is.l2CacheSize; return true;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = is.maxThreadsPerMultiProcessor; return true;
    case cudaDevAttrPciDomainId: *value = is.pciDomainID; return true;
    case cudaDevAttrComputeCapabilityMajor: *value = is.major; return true;
    case cudaDevAttrComputeCapabilityMinor: *value = is.minor; return true;
    case cudaDevAttrManagedMemory: *value = is.managedMemory; return true;
    case cudaDevAttrPageableMemoryAccess: *value = is.pageableMemoryAccess; return true;
    case cudaDevAttrConcurrentManagedAccess: *value = is.concurrentManagedAccess; return true;
    case cudaDevAttrCooperativeLaunch: *value = is.cooperativeLaunch; return true;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = static_cast<int>(is.sharedMemPerBlockOptin); return true;
    case cudaDevAttrMemoryPoolsSupported: *value = is.memoryPoolsSupported; return true;
    case cudaDevAttrComputeMode: break;
  }
  // clang-format on
  if (attribute != cudaDevAttrComputeMode) return false;
  *value = settings_.mode == Mode::prohibited  ? cudaComputeModeProhibited
           : settings_.mode == Mode::exclusive ? cudaComputeModeExclusiveProcess
                                               : cudaComputeModeDefault;
  return true;
}

}  // namespace cuda_on_cpu
