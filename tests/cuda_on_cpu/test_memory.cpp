// SPDX-License-Identifier: Apache-2.0
// Memory of the test double, and the devices it lies on.

#include <cuda_runtime.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/file.h>

#include "cuda_on_cpu/control.hpp"
#include "support.hpp"

namespace cuda_on_cpu::test {
namespace {

__global__ void write_behind(int* values, int count) { values[count] = 1; }

TEST_P(CudaOnCpuDeathTest, HostCannotTouchDeviceMemory) {
  volatile int* device = device_copy(std::vector<int>{1, 2});
  EXPECT_DEATH(static_cast<void>(device[0]), "");
  EXPECT_DEATH(device[1] = 3, "");
}

TEST(CudaOnCpuMemory, HostReadsDeviceMemoryIfAsked) {
  with({{"CUDA_ON_CPU_DEVICE_MEMORY", "host-readable"}});
  int* device = device_copy(std::vector<int>{1, 2});
  OK(cudaDeviceSynchronize());
  EXPECT_EQ(2, device[1]);
}

TEST_P(CudaOnCpuDeathTest, KernelsThatLeaveTheirMemoryDie) {
  int* device = device_copy(std::vector<int>(64));
  const auto overrun = [&] {
    static_cast<void>(start(1, 1, nullptr, write_behind, device, 64));
    cudaDeviceSynchronize();
  };
  EXPECT_DEATH(overrun(), "");
}

TEST_P(CudaOnCpuDeathTest, BytesBehindTheEndAreLookedAt) {
  int* device = device_copy(std::vector<int>(60));  // the guard page is 64 numbers away
  const auto overrun = [&] {
    static_cast<void>(start(1, 1, nullptr, write_behind, device, 60));
    cudaFree(device);
  };
  EXPECT_DEATH(overrun(), "after the end of an allocation|use-after-poison");
}

TEST(CudaOnCpuMemory, RunsOut) {
  with({{"CUDA_ON_CPU_MEMORY_BYTES", "1000000"}});
  void *first = nullptr, *second = nullptr;
  OK(cudaMalloc(&first, 600000));
  EXPECT_EQ(cudaErrorMemoryAllocation, cudaMalloc(&second, 600000));
  std::size_t free = 0, total = 0;
  OK(cudaMemGetInfo(&free, &total));
  EXPECT_EQ(1000000u, total);
  EXPECT_EQ(1000000u - 600064u, free);
  OK(cudaFree(first));
  EXPECT_EQ(cudaErrorInvalidValue, cudaFree(first));
  OK(cudaMalloc(&second, 600000));
  EXPECT_EQ(0u, reinterpret_cast<std::uintptr_t>(second) % 256);
}

TEST(CudaOnCpuMemory, PointersTellWhatTheyAre) {
  with({{"CUDA_ON_CPU_DEVICES", "2"}});
  OK(cudaSetDevice(1));
  char *device = nullptr, *pinned = nullptr, *managed = nullptr;
  OK(cudaMalloc(&device, 100));
  OK(cudaHostAlloc(&pinned, 100, cudaHostAllocPortable));
  OK(cudaMallocManaged(&managed, 100));
  std::vector<char> own(100);
  OK(cudaHostRegister(own.data(), 50, cudaHostRegisterDefault));
  EXPECT_EQ(cudaErrorHostMemoryAlreadyRegistered, cudaHostRegister(own.data() + 49, 2, 0));
  const auto type = [](const void* pointer) {
    cudaPointerAttributes is{};
    EXPECT_EQ(cudaSuccess, cudaPointerGetAttributes(&is, pointer));
    EXPECT_EQ(is.type == cudaMemoryTypeUnregistered ? cudaInvalidDeviceId : 1, is.device);
    return is.type;
  };
  EXPECT_EQ(cudaMemoryTypeDevice, type(device + 99));
  EXPECT_EQ(cudaMemoryTypeUnregistered, type(device + 100));
  EXPECT_EQ(cudaMemoryTypeHost, type(pinned));
  EXPECT_EQ(cudaMemoryTypeManaged, type(managed));
  EXPECT_EQ(cudaMemoryTypeHost, type(own.data() + 49));
  EXPECT_EQ(cudaMemoryTypeUnregistered, type(own.data() + 50));
  OK(cudaHostUnregister(own.data()));
  EXPECT_EQ(cudaErrorHostMemoryNotRegistered, cudaHostUnregister(own.data()));
  OK(cudaMemAdvise(managed, 100, cudaMemAdviseSetPreferredLocation,
                   {cudaMemLocationTypeDevice, 1}));
  OK(cudaMemPrefetchAsync(managed, 100, {cudaMemLocationTypeHost, 0}, 0));
  EXPECT_EQ(cudaErrorInvalidDevice,
            cudaMemPrefetchAsync(managed, 100, {cudaMemLocationTypeDevice, 2}, 0));
}

TEST(CudaOnCpuDevices, PeersAreTouchedWhenAllowed) {
  with({{"CUDA_ON_CPU_DEVICES", "2"}});
  int can = -1;
  OK(cudaDeviceCanAccessPeer(&can, 0, 1));
  EXPECT_EQ(1, can);
  OK(cudaDeviceCanAccessPeer(&can, 1, 1));
  EXPECT_EQ(0, can);
  EXPECT_EQ(cudaErrorInvalidDevice, cudaDeviceCanAccessPeer(&can, 0, 2));
  int* value = device_copy(std::vector<int>{1});
  OK(cudaDeviceSynchronize());
  OK(cudaSetDevice(1));
  const auto touch = [&] {
    static_cast<void>(start(1, 1, nullptr, add_one, value, 1));
    cudaDeviceSynchronize();
  };
  EXPECT_DEATH(touch(), "");
  EXPECT_EQ(cudaErrorInvalidDevice, cudaDeviceEnablePeerAccess(1, 0));
  EXPECT_EQ(cudaErrorPeerAccessNotEnabled, cudaDeviceDisablePeerAccess(0));
  OK(cudaDeviceEnablePeerAccess(0, 0));
  EXPECT_EQ(cudaErrorPeerAccessAlreadyEnabled, cudaDeviceEnablePeerAccess(0, 0));
  touch();
  EXPECT_EQ(2, host_copy(value, 1)[0]);
  with({{"CUDA_ON_CPU_DEVICES", "2"}, {"CUDA_ON_CPU_P2P", "absent"}});
  OK(cudaDeviceCanAccessPeer(&can, 0, 1));
  EXPECT_EQ(0, can);
  EXPECT_EQ(cudaErrorPeerAccessUnsupported, cudaDeviceEnablePeerAccess(1, 0));
}

TEST(CudaOnCpuDevices, AreCountedHiddenAndNamed) {
  with({{"CUDA_ON_CPU_DEVICES", "3"}});
  int count = 0;
  OK(cudaGetDeviceCount(&count));
  EXPECT_EQ(3, count);
  char bus[3][16];
  for (int d = 0; d < 3; ++d) OK(cudaDeviceGetPCIBusId(bus[d], 16, d));
  EXPECT_STREQ("0000:1B:00.0", bus[0]);
  EXPECT_STREQ("0000:1D:00.0", bus[2]);
  for (const char* list : {"2,0", "GPU-c0da0c90-0000-4000-8000-000000000002,0", "2, 0,7,1"}) {
    with({{"CUDA_ON_CPU_DEVICES", "3"}, {"CUDA_VISIBLE_DEVICES", list}});
    OK(cudaGetDeviceCount(&count));
    EXPECT_EQ(2, count);
    cudaDeviceProp is{};
    OK(cudaGetDeviceProperties(&is, 0));
    EXPECT_EQ(2, is.uuid.bytes[15]);
    EXPECT_EQ(0x1d, is.pciBusID);
  }
  EXPECT_EQ(cudaErrorInvalidDevice, cudaSetDevice(2));
  with({{"CUDA_VISIBLE_DEVICES", ""}});
  EXPECT_EQ(cudaErrorNoDevice, cudaGetDeviceCount(&count));
  EXPECT_EQ(0, count);
}

TEST(CudaOnCpuDevices, DriversMayBeAbsentOldOrAlone) {
  int count = 0, version = -1;
  with({{"CUDA_ON_CPU_DRIVER", "absent"}});
  EXPECT_EQ(cudaErrorInsufficientDriver, cudaGetDeviceCount(&count));
  OK(cudaDriverGetVersion(&version));
  EXPECT_EQ(0, version);
  with({{"CUDA_ON_CPU_DRIVER", "old"}});
  EXPECT_EQ(cudaErrorInsufficientDriver, cudaFree(nullptr));
  OK(cudaDriverGetVersion(&version));
  EXPECT_EQ(12020, version);
  with({{"CUDA_ON_CPU_DRIVER", "none"}});
  EXPECT_EQ(cudaErrorNoDevice, cudaGetDeviceCount(&count));
  EXPECT_STREQ("cudaErrorNoDevice", cudaGetErrorName(cudaGetLastError()));
}

TEST(CudaOnCpuDevices, ComputeModesGuardTheContext) {
  int mode = -1;
  with({{"CUDA_ON_CPU_COMPUTE_MODE", "prohibited"}});
  OK(cudaDeviceGetAttribute(&mode, cudaDevAttrComputeMode, 0));
  EXPECT_EQ(cudaComputeModeProhibited, mode);
  EXPECT_EQ(cudaErrorDevicesUnavailable, cudaSetDevice(0));
  EXPECT_EQ(cudaErrorDevicesUnavailable, cudaFree(nullptr));

  // A number that no other test takes.
  with({{"CUDA_ON_CPU_COMPUTE_MODE", "exclusive"},
        {"CUDA_ON_CPU_DEVICES", "78"},
        {"CUDA_VISIBLE_DEVICES", "77"}});
  OK(cudaFree(nullptr));
  const std::string path = "/tmp/cuda_on_cpu." + std::to_string(getuid()) + ".77.lock";
  const int file = open(path.c_str(), O_RDWR);
  EXPECT_NE(0, flock(file, LOCK_EX | LOCK_NB));
  cuda_on_cpu::restart();
  EXPECT_EQ(0, flock(file, LOCK_EX | LOCK_NB));
  EXPECT_EQ(cudaErrorDevicesUnavailable, cudaFree(nullptr));
  close(file);
  OK(cudaFree(nullptr));
  with({});
}

}  // namespace
}  // namespace cuda_on_cpu::test
