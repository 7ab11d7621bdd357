// SPDX-License-Identifier: Apache-2.0
// Memory of other processes, opened by handles.

#include <csignal>
#include <utility>
#include <vector>

#include "support.hpp"

namespace cuda_on_cpu::test {
namespace {

TEST_P(CudaOnCpu, ProcessesShareDeviceMemory) {
  Process other([](Process& parent) {
    int* values = nullptr;
    OK(open_handle(&values, parent.receive<cudaIpcMemHandle_t>()));
    const cudaStream_t stream = new_stream();
    OK(start(2, 128, stream, add_one, values, 250));
    OK(cudaMemsetAsync(values + 1, 0, sizeof(int), stream));
    OK(cudaStreamSynchronize(stream));
    EXPECT_EQ(8, host_copy(values, 250)[249]);
    OK(cudaIpcCloseMemHandle(values));
    parent.send('x');
  });
  int* values = device_copy(std::vector<int>(250, 7));  // ends in the middle of 256 bytes
  OK(cudaDeviceSynchronize());
  other.send(handle_of(values + 3));
  other.receive<char>();
  EXPECT_EQ(0, other.wait());
  std::vector<int> expected(250, 8);
  expected[1] = 0;
  EXPECT_EQ(expected, host_copy(values, 250));
  OK(cudaFree(values));
}

TEST_P(CudaOnCpu, KernelsOfProcessesTakeTurns) {
  const auto play = [](int* shared, int first) {
    const cudaStream_t stream = new_stream();
    OK(start(1, 64, stream, take_turns, shared, shared + 1, first, 20));
    OK(cudaStreamSynchronize(stream));
  };
  Process other([&](Process& parent) {
    int* shared = nullptr;
    OK(open_handle(&shared, parent.receive<cudaIpcMemHandle_t>()));
    play(shared, 2);
    OK(cudaIpcCloseMemHandle(shared));
  });
  int* shared = device_copy(std::vector<int>{1, 0});
  OK(cudaDeviceSynchronize());
  other.send(handle_of(shared));
  play(shared, 1);
  EXPECT_EQ(0, other.wait());
  EXPECT_EQ((std::vector<int>{21, 0xaaaaa}), host_copy(shared, 2));
}

TEST(CudaOnCpuIpc, OpenedMemoryIsKnownAndCountedButNotOwned) {
  with({{"CUDA_ON_CPU_DEVICES", "2"}});
  Process other([](Process& parent) {
    with({{"CUDA_ON_CPU_DEVICES", "2"}, {"CUDA_VISIBLE_DEVICES", "0"}});  // not where it lies
    const auto handle = parent.receive<cudaIpcMemHandle_t>();
    std::size_t before = 0, after = 0, total = 0;
    OK(cudaMemGetInfo(&before, &total));
    char *first = nullptr, *second = nullptr;
    void* none = nullptr;
    EXPECT_EQ(cudaErrorInvalidValue, cudaIpcOpenMemHandle(&none, handle, 0));
    EXPECT_EQ(cudaErrorInvalidValue, open_handle(&first, cudaIpcMemHandle_t{}));
    OK(open_handle(&first, handle));
    OK(open_handle(&second, handle));
    EXPECT_EQ(first, second);
    OK(cudaMemGetInfo(&after, &total));
    EXPECT_EQ(before, after);
    cudaPointerAttributes is{};
    OK(cudaPointerGetAttributes(&is, first + 99));
    EXPECT_EQ(cudaMemoryTypeDevice, is.type);
    EXPECT_EQ(0, is.device);
    cudaIpcMemHandle_t again{};
    EXPECT_EQ(cudaErrorInvalidValue, cudaIpcGetMemHandle(&again, first));
    EXPECT_EQ(cudaErrorInvalidValue, cudaFree(first));
    EXPECT_EQ(cudaErrorInvalidValue, cudaMemset(first, 0, 101));
    OK(cudaIpcCloseMemHandle(first));
    OK(cudaMemset(second, 0, 100));
    EXPECT_EQ(cudaErrorInvalidValue, cudaIpcCloseMemHandle(first + 1));
    OK(cudaIpcCloseMemHandle(first));
    EXPECT_EQ(cudaErrorInvalidValue, cudaIpcCloseMemHandle(first));
  });
  OK(cudaSetDevice(1));
  char* memory = nullptr;
  OK(cudaMalloc(&memory, 100));
  const auto handle = handle_of(memory);
  EXPECT_EQ(cudaErrorDeviceUninitialized, open_handle(&memory, handle));
  other.send(handle);
  EXPECT_EQ(0, other.wait());
}

TEST(CudaOnCpuIpc, OnlyOwnDeviceMemoryIsShared) {
  with({});
  cudaIpcMemHandle_t handle{};
  char *device = nullptr, *pinned = nullptr, *managed = nullptr, *pooled = nullptr, own = 0;
  OK(cudaMalloc(&device, 100));
  OK(cudaMallocHost(&pinned, 100));
  OK(cudaMallocManaged(&managed, 100));
  OK(cudaMallocAsync(&pooled, 100, nullptr));
  OK(cudaIpcGetMemHandle(&handle, device));
  for (void* memory : {pinned, managed, pooled, &own, device + 100}) {
    EXPECT_EQ(cudaErrorInvalidValue, cudaIpcGetMemHandle(&handle, memory));
  }
  EXPECT_EQ(cudaErrorInvalidValue, cudaIpcCloseMemHandle(device));
  with({{"CUDA_ON_CPU_IPC", "absent"}});
  OK(cudaMalloc(&device, 100));
  EXPECT_EQ(cudaErrorNotSupported, cudaIpcGetMemHandle(&handle, device));
}

TEST(CudaOnCpuIpc, WithoutPeerAccessOnlyTheSameDeviceIsOpened) {
  with({{"CUDA_ON_CPU_DEVICES", "2"}});
  Process other([](Process& parent) {
    const auto handle = parent.receive<cudaIpcMemHandle_t>();
    char* memory = nullptr;
    with({{"CUDA_ON_CPU_DEVICES", "2"}, {"CUDA_ON_CPU_P2P", "absent"}});
    EXPECT_EQ(cudaErrorPeerAccessUnsupported, open_handle(&memory, handle));
    with({{"CUDA_ON_CPU_DEVICES", "2"},
          {"CUDA_ON_CPU_P2P", "absent"},
          {"CUDA_VISIBLE_DEVICES", "1"}});
    OK(open_handle(&memory, handle));
    OK(cudaIpcCloseMemHandle(memory));
  });
  OK(cudaSetDevice(1));
  void* memory = nullptr;
  OK(cudaMalloc(&memory, 100));
  other.send(handle_of(memory));
  EXPECT_EQ(0, other.wait());
}

TEST(CudaOnCpuIpc, HostsCannotTouchOpenedMemory) {
  with({});
  Process other([](Process& parent) {
    volatile char* memory = nullptr;
    OK(open_handle(&memory, parent.receive<cudaIpcMemHandle_t>()));
    parent.send('x');
    memory[0] = 0;  // dies
    _exit(0);
  });
  char* memory = nullptr;
  OK(cudaMalloc(&memory, 100));
  other.send(handle_of(memory));
  other.receive<char>();
  EXPECT_NE(0, other.wait());
}

TEST(CudaOnCpuIpc, FreedMemoryIsNotOpenedAndMustHaveBeenClosed) {
  with({});
  Process other([](Process& parent) {
    const auto handle = parent.receive<cudaIpcMemHandle_t>();
    void *memory = nullptr, *again = nullptr;
    OK(open_handle(&memory, handle));
    parent.send('x');
    parent.receive<char>();
    EXPECT_EQ(cudaErrorInvalidResourceHandle, open_handle(&again, handle));
    if (HasFailure()) _exit(1);
    cudaIpcCloseMemHandle(memory);  // dies
  });
  void* memory = nullptr;
  OK(cudaMalloc(&memory, 100));
  other.send(handle_of(memory));
  other.receive<char>();
  OK(cudaFree(memory));
  other.send('x');
  const int status = other.wait();
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

}  // namespace
}  // namespace cuda_on_cpu::test
