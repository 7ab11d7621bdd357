// SPDX-License-Identifier: Apache-2.0
// The driver's virtual memory: physical memory, addresses, and descriptors for other processes.

#include <cuda.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <vector>

#include "support.hpp"

namespace cuda_on_cpu::test {
namespace {

#define DRIVER_OK(call) ASSERT_EQ(CUDA_SUCCESS, (call))

constexpr std::size_t size = 65536;

CUmemAllocationProp on_device(int device) {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  return prop;
}

CUmemGenericAllocationHandle create(int device = 0) {
  const CUmemAllocationProp prop = on_device(device);
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_EQ(CUDA_SUCCESS, cuMemCreate(&handle, size, &prop, 0));
  return handle;
}

CUmemAccessDesc access_of(int device) {
  return {{CU_MEM_LOCATION_TYPE_DEVICE, device}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
}

/// Memory at addresses of its own, for kernels of a device.
int* map(CUmemGenericAllocationHandle handle, int device = 0) {
  CUdeviceptr address = 0;
  EXPECT_EQ(CUDA_SUCCESS, cuMemAddressReserve(&address, size, 0, 0, 0));
  EXPECT_EQ(CUDA_SUCCESS, cuMemMap(address, size, 0, handle, 0));
  const CUmemAccessDesc access = access_of(device);
  EXPECT_EQ(CUDA_SUCCESS, cuMemSetAccess(address, size, &access, 1));
  return reinterpret_cast<int*>(address);
}

void unmap(int* memory) {
  const auto address = reinterpret_cast<CUdeviceptr>(memory);
  OK(cudaDeviceSynchronize());
  DRIVER_OK(cuMemUnmap(address, size));
  DRIVER_OK(cuMemAddressFree(address, size));
}

int descriptor_of(CUmemGenericAllocationHandle handle) {
  int descriptor = -1;
  EXPECT_EQ(CUDA_SUCCESS, cuMemExportToShareableHandle(
                              &descriptor, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  return descriptor;
}

CUresult import(CUmemGenericAllocationHandle* handle, int descriptor) {
  return cuMemImportFromShareableHandle(
      handle, reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor)),
      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
}

/// Another process's descriptor, opened anew.
int opened(const std::pair<int, int>& process_and_number) {
  const std::string path = "/proc/" + std::to_string(process_and_number.first) + "/fd/" +
                           std::to_string(process_and_number.second);
  return open(path.c_str(), O_RDWR | O_CLOEXEC);
}

std::size_t free_bytes() {
  std::size_t free = 0, total = 0;
  EXPECT_EQ(cudaSuccess, cudaMemGetInfo(&free, &total));
  return free;
}

TEST_P(CudaOnCpu, VirtualMemoryIsDeviceMemory) {
  const std::size_t before = free_bytes();
  const CUmemGenericAllocationHandle handle = create();
  EXPECT_EQ(before - size, free_bytes());
  int* const memory = map(handle);
  DRIVER_OK(cuMemRelease(handle));  // what is mapped stays
  EXPECT_EQ(before - size, free_bytes());
  EXPECT_EQ(static_cast<int>(0xa5a5a5a5), host_copy(memory + 7, 1)[0]);
  const cudaStream_t stream = new_stream();
  OK(cudaMemsetAsync(memory, 0, size, stream));
  OK(start(1, 128, stream, add_one, memory, 100));
  OK(cudaStreamSynchronize(stream));
  EXPECT_EQ((std::vector<int>{1, 0}), host_copy(memory + 99, 2));
  cudaPointerAttributes is{};
  OK(cudaPointerGetAttributes(&is, memory + 5));
  EXPECT_EQ(cudaMemoryTypeDevice, is.type);
  unmap(memory);
  EXPECT_EQ(before, free_bytes());
}

TEST(CudaOnCpuVirtual, MemoryOfOneHandleMayBeMappedTwice) {
  with({});
  const CUmemGenericAllocationHandle handle = create();
  int *const one = map(handle), *const two = map(handle);
  EXPECT_NE(one, two);
  OK(cudaMemset(one, 0, size));
  OK(start(1, 1, nullptr, add_one, one, 1));
  OK(start(1, 1, nullptr, add_one, two, 1));
  EXPECT_EQ(2, host_copy(one, 1)[0]);
  unmap(one);
  EXPECT_EQ(2, host_copy(two, 1)[0]);
  unmap(two);
  DRIVER_OK(cuMemRelease(handle));
}

TEST_P(CudaOnCpu, PiecesAreMappedOneBehindTheOther) {
  const CUmemGenericAllocationHandle one = create(), two = create();
  CUdeviceptr address = 0;
  DRIVER_OK(cuMemAddressReserve(&address, 3 * size, 0, 0, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemMap(address + size / 2, size, size, one, 0));
  DRIVER_OK(cuMemMap(address, size, 0, two, 0));
  const CUmemAccessDesc access = access_of(0);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemMap(address, size, 0, one, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemMap(address + 3 * size, size, 0, one, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemSetAccess(address, 2 * size, &access, 1));
  DRIVER_OK(cuMemMap(address + size, size, 0, one, 0));
  DRIVER_OK(cuMemSetAccess(address, 2 * size, &access, 1));
  auto* const memory = reinterpret_cast<std::byte*>(address);
  OK(cudaMemset(memory, 0, 2 * size));
  EXPECT_EQ(cudaErrorInvalidValue, cudaMemset(memory, 0, 2 * size + 1));
  int* const second = map(one);
  OK(start(1, 1, nullptr, add_one, second, 1));
  EXPECT_EQ(1, host_copy(reinterpret_cast<int*>(memory + size), 1)[0]);
  unmap(second);
  OK(cudaDeviceSynchronize());
  DRIVER_OK(cuMemUnmap(address, size));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(address, 3 * size));
  DRIVER_OK(cuMemUnmap(address + size, size));
  DRIVER_OK(cuMemAddressFree(address, 3 * size));
  DRIVER_OK(cuMemRelease(one));
  DRIVER_OK(cuMemRelease(two));
}

TEST_P(CudaOnCpu, ProcessesShareMemoryByDescriptors) {
  Process other([](Process& parent) {
    const int descriptor = opened(parent.receive<std::pair<int, int>>());
    CUmemGenericAllocationHandle handle = 0;
    DRIVER_OK(import(&handle, descriptor));
    close(descriptor);
    const std::size_t before = free_bytes();
    int* const memory = map(handle);
    EXPECT_EQ(before, free_bytes());  // counted where it was made
    DRIVER_OK(cuMemRelease(handle));
    OK(start(2, 128, nullptr, add_one, memory, 250));
    OK(cudaDeviceSynchronize());
    EXPECT_EQ(8, host_copy(memory, 250)[249]);
    unmap(memory);
    parent.send('x');
  });
  const CUmemGenericAllocationHandle handle = create();
  int* const memory = map(handle);
  const std::vector<int> sevens(250, 7);
  OK(cudaMemcpy(memory, sevens.data(), 1000, cudaMemcpyHostToDevice));
  OK(cudaDeviceSynchronize());
  const int descriptor = descriptor_of(handle);
  other.send(std::pair<int, int>(getpid(), descriptor));
  other.receive<char>();
  EXPECT_EQ(0, other.wait());
  EXPECT_EQ(std::vector<int>(250, 8), host_copy(memory, 250));
  close(descriptor);
  unmap(memory);
  DRIVER_OK(cuMemRelease(handle));
}

TEST(CudaOnCpuVirtual, MemoryHasNoOtherHandlesAndOwners) {
  with({});
  const CUmemGenericAllocationHandle handle = create();
  int* const memory = map(handle);
  cudaIpcMemHandle_t ipc{};
  EXPECT_EQ(cudaErrorInvalidValue, cudaIpcGetMemHandle(&ipc, memory));
  EXPECT_EQ(cudaErrorInvalidValue, cudaFree(memory));
  EXPECT_EQ(cudaErrorInvalidValue, cudaIpcCloseMemHandle(memory));
  const auto address = reinterpret_cast<CUdeviceptr>(memory);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(address, size));  // still mapped
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemMap(address, size, 0, handle, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemUnmap(address, size + size));
  unmap(memory);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemUnmap(address, size));
  DRIVER_OK(cuMemRelease(handle));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemRelease(handle));
  int descriptor = -1;
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE,
            cuMemExportToShareableHandle(&descriptor, handle,
                                         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
}

TEST(CudaOnCpuVirtual, SizesAreWholeStepsAndRunOut) {
  with({{"CUDA_ON_CPU_MEMORY_BYTES", "100000"}});
  CUmemAllocationProp prop = on_device(0);
  std::size_t step = 0;
  DRIVER_OK(cuMemGetAllocationGranularity(&step, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  EXPECT_EQ(size, step);
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&handle, size - 1, &prop, 0));
  EXPECT_EQ(CUDA_ERROR_OUT_OF_MEMORY, cuMemCreate(&handle, 2 * size, &prop, 0));
  prop.location.id = 1;
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE, cuMemCreate(&handle, size, &prop, 0));
  prop = on_device(0);
  prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE;
  EXPECT_EQ(CUDA_ERROR_NOT_SUPPORTED, cuMemCreate(&handle, size, &prop, 0));
  DRIVER_OK(cuMemRelease(create()));
}

TEST(CudaOnCpuVirtual, OnlySuchMemoryIsImported) {
  with({});
  int ends[2] = {-1, -1};
  ASSERT_EQ(0, pipe(ends));
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, import(&handle, ends[0]));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, import(&handle, -1));
  close(ends[0]);
  close(ends[1]);
}

TEST(CudaOnCpuVirtual, MayBeAbsent) {
  with({{"CUDA_ON_CPU_VMM", "absent"}});
  const CUmemAllocationProp prop = on_device(0);
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_EQ(CUDA_ERROR_NOT_SUPPORTED, cuMemCreate(&handle, size, &prop, 0));
}

TEST(CudaOnCpuVirtual, WithoutPeerAccessOnlyTheSameDeviceReachesIt) {
  with({{"CUDA_ON_CPU_DEVICES", "2"}, {"CUDA_ON_CPU_P2P", "absent"}});
  const CUmemGenericAllocationHandle handle = create(1);
  CUdeviceptr address = 0;
  DRIVER_OK(cuMemAddressReserve(&address, size, 0, 0, 0));
  DRIVER_OK(cuMemMap(address, size, 0, handle, 0));
  CUmemAccessDesc access = access_of(0);
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE, cuMemSetAccess(address, size, &access, 1));
  access = access_of(1);
  DRIVER_OK(cuMemSetAccess(address, size, &access, 1));
  unmap(reinterpret_cast<int*>(address));
  DRIVER_OK(cuMemRelease(handle));
}

TEST_P(CudaOnCpuDeathTest, MemoryWithoutAccessOrAddressFaults) {
  CUdeviceptr address = 0;
  const CUmemGenericAllocationHandle handle = create();
  DRIVER_OK(cuMemAddressReserve(&address, size, 0, 0, 0));
  DRIVER_OK(cuMemMap(address, size, 0, handle, 0));
  const auto touch = [&] {
    static_cast<void>(start(1, 1, nullptr, add_one, reinterpret_cast<int*>(address), 1));
    cudaDeviceSynchronize();
  };
  EXPECT_DEATH(touch(), "");
  const CUmemAccessDesc access = access_of(0);
  DRIVER_OK(cuMemSetAccess(address, size, &access, 1));
  touch();
  EXPECT_DEATH(*reinterpret_cast<volatile int*>(address) = 1, "");
  DRIVER_OK(cuMemUnmap(address, size));
  EXPECT_DEATH(touch(), "");
  // From here on something else may lie there.
  DRIVER_OK(cuMemAddressFree(address, size));
  DRIVER_OK(cuMemRelease(handle));
}

TEST(CudaOnCpuDriver, FunctionsAreFoundByName) {
  with({});
  cudaDriverEntryPointQueryResult found{};
  void* address = nullptr;
  OK(cudaGetDriverEntryPointByVersion("cuMemRelease", &address, 12000, cudaEnableDefault, &found));
  EXPECT_EQ(cudaDriverEntryPointSuccess, found);
  EXPECT_EQ(reinterpret_cast<void*>(&cuMemRelease), address);
  OK(cudaGetDriverEntryPointByVersion("cuTelepathy", &address, 12000, cudaEnableDefault, &found));
  EXPECT_EQ(cudaDriverEntryPointSymbolNotFound, found);
  EXPECT_EQ(nullptr, address);
}

}  // namespace
}  // namespace cuda_on_cpu::test
