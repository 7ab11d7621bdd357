// SPDX-License-Identifier: Apache-2.0
// The order of work in streams: what waits for what, and what is done when.

#include <cuda_runtime.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "support.hpp"

namespace cuda_on_cpu::test {
namespace {

// Meets the other of two launches with shared memory in use.
__global__ void meet_other(int* here, int me, int* out) {
  __shared__ int mine;
  if (threadIdx.x == 0) mine = me;
  __syncthreads();
  if (threadIdx.x == 0) {
    __nv_atomic_store_n(here + me, 1, __NV_ATOMIC_RELEASE);
    while (__nv_atomic_load_n(here + 1 - me, __NV_ATOMIC_ACQUIRE) == 0) __nanosleep(100);
  }
  __syncthreads();
  if (threadIdx.x == blockDim.x - 1) out[me] = 10 * mine + static_cast<int>(threadIdx.x);
}

// Each block waits for all behind it, with shared memory in use.
__global__ void wait_for_later_blocks(unsigned* ended, unsigned* out) {
  __shared__ unsigned mine;
  if (threadIdx.x == 0) mine = blockIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) {
    while (__nv_atomic_load_n(ended, __NV_ATOMIC_ACQUIRE) != gridDim.x - 1 - blockIdx.x)
      __nanosleep(100);
    __nv_atomic_store_n(ended, *ended + 1, __NV_ATOMIC_RELEASE);
  }
  __syncthreads();
  if (threadIdx.x == blockDim.x - 1) out[blockIdx.x] = 100 + mine;
}

TEST_P(CudaOnCpu, EventsOrderStreams) {
  int* value = device_copy(std::vector<int>{0});
  OK(cudaDeviceSynchronize());
  const cudaStream_t streams[] = {new_stream(), new_stream(), new_stream()};
  const cudaEvent_t event = new_event();
  for (int digit = 1; digit <= 7; ++digit) {
    const cudaStream_t stream = streams[digit % 3];
    OK(cudaStreamWaitEvent(stream, event));
    OK(start(1, 1, stream, times_ten_plus, value, digit));
    OK(cudaEventRecord(event, stream));
  }
  OK(cudaEventSynchronize(event));
  int result = 0;
  OK(cudaMemcpyAsync(&result, value, sizeof result, cudaMemcpyDeviceToHost, streams[0]));
  EXPECT_EQ(1234567, result);
}

TEST_P(CudaOnCpu, LegacyStreamStandsBetweenBlockingOnes) {
  int* value = device_copy(std::vector<int>{0});
  const cudaStream_t one = new_stream(cudaStreamDefault), two = new_stream(cudaStreamDefault);
  OK(start(1, 1, one, times_ten_plus, value, 1));
  OK(start(1, 1, cudaStreamLegacy, times_ten_plus, value, 2));
  OK(start(1, 1, two, times_ten_plus, value, 3));
  OK(start(1, 1, nullptr, times_ten_plus, value, 4));
  OK(start(1, 1, cudaStreamPerThread, times_ten_plus, value, 5));
  OK(cudaStreamSynchronize(nullptr));
  EXPECT_EQ(12345, host_copy(value, 1)[0]);
}

TEST_P(CudaOnCpu, QueriesGetWorkDone) {
  int* value = device_copy(std::vector<int>{0});
  const cudaStream_t stream = new_stream();
  const cudaEvent_t event = new_event();
  EXPECT_EQ(cudaSuccess, cudaEventQuery(event));
  OK(cudaDeviceSynchronize());
  for (int digit = 1; digit <= 4; ++digit) OK(start(1, 1, stream, times_ten_plus, value, digit));
  OK(cudaEventRecord(event, stream));
  int queries = 1;
  while (cudaEventQuery(event) == cudaErrorNotReady) ++queries;
  EXPECT_LE(queries, GetParam() == std::string("thread") ? 1000000 : 5);
  EXPECT_EQ(cudaSuccess, cudaStreamQuery(stream));
  while (cudaStreamQuery(nullptr) != cudaSuccess) {
  }
  EXPECT_EQ(1234, host_copy(value, 1)[0]);
}

TEST_P(CudaOnCpu, EventsTellTimes) {
  const cudaStream_t stream = new_stream();
  cudaEvent_t begin = nullptr, end = nullptr;
  OK(cudaEventCreate(&begin));
  OK(cudaEventCreate(&end));
  float ms = -1;
  EXPECT_EQ(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, begin, end));
  OK(cudaEventRecord(begin, stream));
  OK(cudaLaunchHostFunc(
      stream, [](void*) { usleep(3000); }, nullptr));
  OK(cudaEventRecord(end, stream));
  OK(cudaStreamSynchronize(stream));
  OK(cudaEventElapsedTime(&ms, begin, end));
  EXPECT_GE(ms, 3.f);
}

TEST_P(CudaOnCpu, HostFunctionsRunInOrderAndMayNotCallBack) {
  struct Seen {
    int value;
    int* pinned;
    cudaError_t refused;
  } seen{};
  OK(cudaMallocHost(&seen.pinned, sizeof(int)));
  *seen.pinned = 3;
  const cudaStream_t stream = new_stream();
  OK(start(1, 1, stream, add_one, seen.pinned, 1));
  const auto look = [](void* data) {
    auto* is = static_cast<Seen*>(data);
    is->value = *is->pinned;
    is->refused = cudaDeviceSynchronize();
  };
  OK(cudaLaunchHostFunc(stream, look, &seen));
  OK(start(1, 1, stream, add_one, seen.pinned, 1));
  OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(4, seen.value);
  EXPECT_EQ(5, *seen.pinned);
  EXPECT_EQ(cudaErrorNotPermitted, seen.refused);
}

TEST_P(CudaOnCpu, MemoryIsFreedInStreamOrder) {
  const cudaStream_t stream = new_stream();
  std::size_t before = 0, after = 0, total = 0;
  OK(cudaMemGetInfo(&before, &total));
  int* value = nullptr;
  OK(cudaMallocAsync(&value, 1000, stream));
  OK(cudaMemsetAsync(value, 0, 1000, stream));
  OK(start(1, 1, stream, add_one, value, 1));
  OK(cudaFreeAsync(value, stream));
  EXPECT_EQ(cudaErrorInvalidValue, cudaFree(value));
  OK(cudaStreamSynchronize(stream));
  OK(cudaMemGetInfo(&after, &total));
  EXPECT_EQ(before, after);
}

// ---- copies

TEST_P(CudaOnCpu, PageableSourcesMayChangeAfterTheCallAndTargetsAreFilledByIt) {
  const cudaStream_t stream = new_stream();
  int* device = nullptr;
  OK(cudaMalloc(&device, sizeof(int)));
  int host = 7;
  OK(cudaMemcpyAsync(device, &host, sizeof host, cudaMemcpyHostToDevice, stream));
  host = 0;
  OK(start(1, 1, stream, add_one, device, 1));
  OK(cudaMemcpyAsync(&host, device, sizeof host, cudaMemcpyDeviceToHost, stream));
  EXPECT_EQ(8, host);
}

TEST_P(CudaOnCpu, RowsAreCopied) {
  std::vector<char> from(40, 'a'), to(30, 'z');
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<char>('a' + i % 26);
  char* device = nullptr;
  OK(cudaMalloc(&device, 3 * 16));
  OK(cudaMemcpy2DAsync(device, 16, from.data(), 10, 4, 3, cudaMemcpyHostToDevice));
  OK(cudaMemcpy2DAsync(to.data(), 8, device, 16, 4, 3, cudaMemcpyDefault));
  EXPECT_EQ("abcdzzzzklmnzzzzuvwxzzzzzzzzzz", std::string(to.begin(), to.end()));
  EXPECT_EQ(cudaErrorInvalidPitchValue,
            cudaMemcpy2DAsync(device, 3, from.data(), 10, 4, 3, cudaMemcpyDefault));
  EXPECT_EQ(cudaErrorInvalidPitchValue, cudaMemcpy2DAsync(device, std::size_t{1} << 31, from.data(),
                                                          10, 4, 1, cudaMemcpyDefault));
  EXPECT_EQ(cudaErrorInvalidValue,
            cudaMemcpy2DAsync(device, 16, from.data(), 10, 4, 4, cudaMemcpyDefault));
  EXPECT_EQ(cudaErrorInvalidValue, cudaMemcpy(device, from.data(), 4, cudaMemcpyDeviceToHost));
  EXPECT_EQ(cudaErrorInvalidValue, cudaGetLastError());
  EXPECT_EQ(cudaSuccess, cudaGetLastError());
}

TEST(CudaOnCpuLazy, PinnedSourcesAreReadLate) {
  with({{"CUDA_ON_CPU_ORDER", "lazy"}});
  const cudaStream_t stream = new_stream();
  int *pinned = nullptr, *device = nullptr;
  OK(cudaMallocHost(&pinned, sizeof(int)));
  EXPECT_EQ(static_cast<int>(0xa5a5a5a5), *pinned);
  OK(cudaMalloc(&device, sizeof(int)));
  *pinned = 1;
  OK(cudaMemcpyAsync(device, pinned, sizeof(int), cudaMemcpyHostToDevice, stream));
  *pinned = 2;
  OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(2, host_copy(device, 1)[0]);
}

TEST(CudaOnCpuLazy, WorkWaitsUntilItIsWaitedFor) {
  with({{"CUDA_ON_CPU_ORDER", "lazy"}});
  int *one = nullptr, *two = nullptr;
  OK(cudaMallocManaged(&one, sizeof(int)));
  OK(cudaMallocManaged(&two, sizeof(int)));
  *one = *two = 0;
  const cudaStream_t first = new_stream(), second = new_stream();
  OK(start(1, 1, first, add_one, one, 1));
  OK(start(1, 1, second, add_one, two, 1));
  EXPECT_EQ(0, *one);
  OK(cudaStreamSynchronize(second));
  EXPECT_EQ(0, *one);
  EXPECT_EQ(1, *two);
  OK(cudaStreamDestroy(first));
  OK(cudaDeviceSynchronize());
  EXPECT_EQ(1, *one);
}

TEST(CudaOnCpuLazy, BlockingLaunchesDoNotWait) {
  with({{"CUDA_ON_CPU_ORDER", "lazy"}, {"CUDA_LAUNCH_BLOCKING", "1"}});
  int* value = nullptr;
  OK(cudaMallocManaged(&value, sizeof(int)));
  *value = 0;
  const cudaStream_t stream = new_stream();
  OK(start(1, 1, stream, add_one, value, 1));
  EXPECT_EQ(1, *value);
}

// ---- work done by threads

TEST(CudaOnCpuThread, WorkIsDoneWithoutCalls) {
  with({{"CUDA_ON_CPU_ORDER", "thread"}});
  int *pinned = nullptr, *device = device_copy(std::vector<int>{41});
  OK(cudaMallocHost(&pinned, sizeof(int)));
  const cudaStream_t stream = new_stream();
  OK(start(1, 32, stream, add_one, device, 1));
  OK(cudaMemcpyAsync(pinned, device, sizeof(int), cudaMemcpyDeviceToHost, stream));
  static std::atomic<bool> called;
  called = false;
  OK(cudaLaunchHostFunc(
      stream, [](void*) { called = true; }, nullptr));
  while (!called) std::this_thread::yield();
  EXPECT_EQ(42, *pinned);
}

TEST(CudaOnCpuThread, KernelsOfStreamsWaitForEachOther) {
  with({{"CUDA_ON_CPU_ORDER", "thread"}});
  int *shared = device_copy(std::vector<int>{1, 0}), *here = device_copy(std::vector<int>(4));
  OK(cudaDeviceSynchronize());
  const cudaStream_t one = new_stream(), two = new_stream();
  OK(start(1, 64, one, take_turns, shared, shared + 1, 1, 20));
  OK(start(1, 64, two, take_turns, shared, shared + 1, 2, 20));
  OK(cudaStreamSynchronize(two));
  OK(cudaStreamSynchronize(one));
  EXPECT_EQ(0xaaaaa, host_copy(shared, 2)[1]);
  OK(start(1, 7, one, meet_other, here, 0, here + 2));
  OK(start(1, 7, two, meet_other, here, 1, here + 2));
  OK(cudaDeviceSynchronize());
  EXPECT_EQ((std::vector<int>{1, 1, 6, 16}), host_copy(here, 4));
}

TEST(CudaOnCpu, BlocksMayWaitForLaterOnes) {
  for (const char* order : {"eager", "lazy", "random:5", "thread"}) {
    with({{"CUDA_ON_CPU_ORDER", order}});
    auto* const ended = device_copy(std::vector<unsigned>(8));
    OK(cudaDeviceSynchronize());
    const cudaStream_t stream = new_stream();
    for (int time = 0; time < 2; ++time) {
      OK(cudaMemsetAsync(ended, 0, sizeof *ended, stream));
      OK(start(7, 40, stream, wait_for_later_blocks, ended, ended + 1));
    }
    OK(cudaStreamSynchronize(stream));
    EXPECT_EQ((std::vector<unsigned>{7, 100, 101, 102, 103, 104, 105, 106}), host_copy(ended, 8));
  }
}

TEST(CudaOnCpuThread, BranchesOfAGraphWaitForEachOther) {
  with({{"CUDA_ON_CPU_ORDER", "thread"}});
  int* here = device_copy(std::vector<int>(4));
  OK(cudaDeviceSynchronize());
  const cudaStream_t one = new_stream(), two = new_stream();
  run_as_branches(one, two, [&] {
    OK(start(1, 7, one, meet_other, here, 0, here + 2));
    OK(start(1, 7, two, meet_other, here, 1, here + 2));
  });
  EXPECT_EQ((std::vector<int>{1, 1, 6, 16}), host_copy(here, 4));
}

TEST(CudaOnCpuThread, TheHostGoesOnWhileAKernelWaits) {
  with({{"CUDA_ON_CPU_ORDER", "thread"}});
  int* here = device_copy(std::vector<int>(4));
  OK(cudaDeviceSynchronize());
  const cudaStream_t one = new_stream(), two = new_stream();
  OK(start(1, 7, one, meet_other, here, 0, here + 2));
  for (int n = 0; n < 10; ++n) EXPECT_EQ(cudaErrorNotReady, cudaStreamQuery(one));
  void* memory = nullptr;
  OK(cudaMalloc(&memory, 100));
  OK(cudaMemsetAsync(here + 1, 1, sizeof(int), two));
  OK(cudaStreamSynchronize(one));
  OK(cudaFree(memory));
  EXPECT_EQ(6, host_copy(here, 4)[2]);
}

TEST(CudaOnCpuThread, OtherProcessesNeedNoCallsOfThisOne) {
  with({{"CUDA_ON_CPU_ORDER", "thread"}});
  Process other([](Process& parent) {
    int* shared = nullptr;
    OK(open_handle(&shared, parent.receive<cudaIpcMemHandle_t>()));
    const cudaStream_t stream = new_stream();
    OK(start(1, 64, stream, take_turns, shared, shared + 1, 2, 20));
    parent.receive<char>();  // the kernel goes on meanwhile
    OK(cudaStreamSynchronize(stream));
    OK(cudaIpcCloseMemHandle(shared));
  });
  int* shared = device_copy(std::vector<int>{1, 0});
  OK(cudaDeviceSynchronize());
  other.send(handle_of(shared));
  const cudaStream_t stream = new_stream();
  OK(start(1, 64, stream, take_turns, shared, shared + 1, 1, 21));
  OK(cudaStreamSynchronize(stream));
  other.send('x');
  EXPECT_EQ(0, other.wait());
  EXPECT_EQ((std::vector<int>{22, 0x155555}), host_copy(shared, 2));
}

}  // namespace
}  // namespace cuda_on_cpu::test
