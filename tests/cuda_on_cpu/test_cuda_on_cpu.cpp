// The test double itself: what it promises in README.md.

#include <cuda_runtime.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/wait.h>

#include "cuda_on_cpu/control.hpp"
#include "support.hpp"

namespace cuda_on_cpu::test {
namespace {

// ---- kernels

__device__ __forceinline__ float warp_sum(float value) {
  for (int step = 16; step > 0; step /= 2)
    value += __shfl_down_sync(0xffffffffu, value, static_cast<unsigned>(step));
  return value;
}

template <int kThreads>
__global__ void __launch_bounds__(kThreads) block_sum(const float* __restrict__ in, float* out) {
  __shared__ float sums[kThreads / 32];
  const unsigned t = threadIdx.x;
  const float sum = warp_sum(__ldg(in + blockIdx.x * kThreads + t));
  if (t % 32 == 0) sums[t / 32] = sum;
  __syncthreads();
  if (t == 0) {
    float all = 0;
    for (float one : sums) all += one;
    out[blockIdx.x] = all;
  }
}

// The block that is done last adds what the others left.
__global__ void sum_of_blocks(const float* in, float* partial, unsigned* done, float* out) {
  __shared__ bool last;
  const unsigned t = threadIdx.x;
  const float sum = warp_sum(in[blockIdx.x * 32 + t]);
  if (t == 0) {
    partial[blockIdx.x] = sum;
    __threadfence();
    last = atomicInc(done, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last) {
    float all = 0;
    for (unsigned b = t; b < gridDim.x; b += 32) all += __ldcg(partial + b);
    all = warp_sum(all);
    if (t == 0) *out = all;
  }
}

__global__ void shuffles(int* out) {
  const int t = static_cast<int>(threadIdx.x);
  int* mine = out + t * 6;
  mine[0] = __shfl_sync(0xffffffffu, t, 5);
  mine[1] = __shfl_sync(0xffffffffu, t, 3, 8);
  mine[2] = __shfl_up_sync(0xffffffffu, t, 2u, 16);
  mine[3] = __shfl_down_sync(0xffffffffu, t, 2u, 16);
  mine[4] = __shfl_xor_sync(0xffffffffu, t, 1);
  mine[5] = __shfl_xor_sync(0xffffffffu, t, 8, 8);
}

__global__ void votes(unsigned* out) {
  const int t = static_cast<int>(threadIdx.x);
  const unsigned half = t < 16 ? 0x0000ffffu : 0xffff0000u;
  const unsigned ballot = __ballot_sync(half, t % 2);
  const int any = __any_sync(half, t == 20), all = __all_sync(half, t >= 16);
  const double wide = __shfl_sync(half, 0.5 * t, t < 16 ? 1 : 17);
  out[t] = ballot + (any ? 1u : 0u) + (all ? 4u : 0u) + (wide == (t < 16 ? 0.5 : 8.5) ? 16u : 0u);
}

__global__ void barriers(int* out) {
  const int t = static_cast<int>(threadIdx.x);
  const int any = __syncthreads_or(t == 77), all = __syncthreads_and(t < 77);
  const int count = __syncthreads_count(t < 77);
  out[t] = any * 1000000 + all * 100000 + count;
}

// Rotates through shared memory, all threads of a three-dimensional block.
__global__ void rotate(unsigned* out) {
  alignas(16) __shared__ unsigned values[512];
  const unsigned t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned n = blockDim.x * blockDim.y * blockDim.z;
  for (unsigned turn = 0; turn < 3; ++turn) {
    values[t] = turn == 0 ? blockIdx.y * 1000 + t : values[t];
    __syncthreads();
    const unsigned next = values[(t + 1) % n];
    __syncthreads();
    values[t] = next;
  }
  out[blockIdx.y * n + t] = values[t];
}

__global__ void atomics(int* i, unsigned* u, unsigned long long* w, double* d) {
  atomicAdd(i, -1);
  atomicMax(u, threadIdx.x);
  atomicMin(u + 1, threadIdx.x);
  atomicAdd(w, 1ull << 40);
  atomicAdd(d, 0.5);
  while (atomicCAS(u + 2, threadIdx.x, threadIdx.x + 1) != threadIdx.x) __nanosleep(1);
}

__global__ void scale(float4* values, float factor) {
  float4 v = __ldcs(values + threadIdx.x);
  v = make_float4(v.x * factor, v.y * factor, v.z * factor, v.w * factor);
  __stcs(values + threadIdx.x, v);
}

__global__ void write_behind(int* values, int count) { values[count] = 1; }

__global__ void half_of_the_block_meets() {
  if (threadIdx.x < 64) __syncthreads();
}
__global__ void branches_meet() {
  if (threadIdx.x < 64) {
    __syncthreads();
  } else {
    __nanosleep(1);
    __syncthreads();
  }
}
__global__ void a_lane_leaves(int* out) {
  if (threadIdx.x == 7) return;
  *out = __shfl_xor_sync(0xffffffffu, 1, 1);
}

__global__ void multiply_add(float* values) { values[0] = fma(values[0], values[1], values[2]); }

__global__ void wait_for(const unsigned* flag, unsigned long long* nanoseconds) {
  const auto begin = cuda_on_cpu::global_nanoseconds();
  if (threadIdx.x == 0) {
    while (__nv_atomic_load_n(flag, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_BLOCK) == 0) {
      __nanosleep(100000);
    }
    __threadfence_system();
    *nanoseconds = cuda_on_cpu::global_nanoseconds() - begin;
  } else if (threadIdx.x == blockDim.x - 1) {
    __nv_atomic_store_n(const_cast<unsigned*>(flag), 1, __NV_ATOMIC_SEQ_CST);
  }
}

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

__global__ void store_at(char* at, int order) { __nv_atomic_store_n(at, 1, order, 4); }
__global__ void store_int_at(char* at) {
  __nv_atomic_store_n(reinterpret_cast<int*>(at), 1, __NV_ATOMIC_RELAXED, 4);
}

// ---- every test under every order

std::string order_name(const testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  for (char& c : name) c = c == ':' ? '_' : c;
  return name;
}
#define EVERY_ORDER "eager", "lazy", "random:1", "random:2", "random:3"
INSTANTIATE_TEST_SUITE_P(Order, CudaOnCpu, testing::Values(EVERY_ORDER, "thread"), order_name);
// Not with threads, which a forked process has not.
INSTANTIATE_TEST_SUITE_P(Order, CudaOnCpuDeathTest, testing::Values(EVERY_ORDER), order_name);

TEST_P(CudaOnCpu, ThreadsKnowTheirPlaces) {
  int* values = device_copy(std::vector<int>(1000, 5));
  OK(start(4, 256, nullptr, add_one, values, 999));
  std::vector<int> expected(1000, 6);
  expected.back() = 5;
  EXPECT_EQ(expected, host_copy(values, 1000));
}

TEST_P(CudaOnCpu, ShufflesReduceWarpsAndSharedMemoryBlocks) {
  std::vector<float> in(256 * 3);
  std::iota(in.begin(), in.end(), 0.f);
  float* device = device_copy(in);
  float* out = device_copy(std::vector<float>(3));
  OK(start(3, 256, nullptr, block_sum<256>, device, out));
  EXPECT_EQ((std::vector<float>{32640, 98176, 163712}), host_copy(out, 3));
}

TEST_P(CudaOnCpu, ShufflesFollowWidthAndDirection) {
  int* out = device_copy(std::vector<int>(32 * 6));
  OK(start(1, 32, nullptr, shuffles, out));
  const std::vector<int> got = host_copy(out, 32 * 6);
  for (int t = 0; t < 32; ++t) {
    const auto at = [row = got.data() + t * 6](int i) { return row[i]; };
    EXPECT_EQ(5, at(0));
    EXPECT_EQ(t / 8 * 8 + 3, at(1));
    EXPECT_EQ(t % 16 >= 2 ? t - 2 : t, at(2));
    EXPECT_EQ(t % 16 < 14 ? t + 2 : t, at(3));
    EXPECT_EQ(t ^ 1, at(4));
    EXPECT_EQ(t & 8 ? t - 8 : t, at(5));  // earlier segments can be read, later ones not
  }
}

TEST_P(CudaOnCpu, HalvesOfAWarpVoteApart) {
  unsigned* out = device_copy(std::vector<unsigned>(32));
  OK(start(1, 32, nullptr, votes, out));
  const auto got = host_copy(out, 32);
  EXPECT_EQ(0x0000aaaau + 16, got[3]);
  EXPECT_EQ(0xaaaa0000u + 1 + 4 + 16, got[31]);
}

TEST_P(CudaOnCpu, BarriersCombinePredicates) {
  int* out = device_copy(std::vector<int>(100));
  OK(start(1, 100, nullptr, barriers, out));
  EXPECT_EQ(std::vector<int>(100, 1000077), host_copy(out, 100));
}

TEST_P(CudaOnCpu, SharedMemoryServesOneBlockAfterAnother) {
  unsigned* out = device_copy(std::vector<unsigned>(2 * 210));
  OK(start(dim3(1, 2), dim3(7, 6, 5), nullptr, rotate, out));
  const auto got = host_copy(out, 2 * 210);
  for (unsigned i = 0; i < 2 * 210; ++i) EXPECT_EQ(i / 210 * 1000 + (i % 210 + 3) % 210, got[i]);
}

TEST_P(CudaOnCpu, LastBlockAddsUp) {
  const std::size_t blocks = 37;
  float* in = device_copy(std::vector<float>(blocks * 32, 0.25f));
  float* partial = device_copy(std::vector<float>(blocks));
  unsigned* done = device_copy(std::vector<unsigned>(1));
  float* out = device_copy(std::vector<float>(1));
  for (int round = 0; round < 2; ++round) {  // atomicInc has wrapped to 0
    OK(start(blocks, 32, nullptr, sum_of_blocks, in, partial, done, out));
    EXPECT_EQ(blocks * 8.f, host_copy(out, 1)[0]);
  }
}

TEST_P(CudaOnCpu, AtomicsOfAllKinds) {
  int* i = device_copy(std::vector<int>{100});
  unsigned* u = device_copy(std::vector<unsigned>{3, 99, 0});
  auto* w = device_copy(std::vector<unsigned long long>{1});
  double* d = device_copy(std::vector<double>{0.25});
  OK(start(1, 96, nullptr, atomics, i, u, w, d));
  EXPECT_EQ(4, host_copy(i, 1)[0]);
  EXPECT_EQ((std::vector<unsigned>{95, 0, 96}), host_copy(u, 3));
  EXPECT_EQ(1 + (96ull << 40), host_copy(w, 1)[0]);
  EXPECT_EQ(48.25, host_copy(d, 1)[0]);
}

TEST_P(CudaOnCpu, ArithmeticOfFloatsStaysInFloats) {
  // The exact value is just above the middle between two floats; double drops what is above.
  const std::vector<float> in{1 + 0x1p-12f, 1 + 0x1p-12f, 0x1p-60f};
  float* values = device_copy(in);
  OK(start(1, 1, nullptr, multiply_add, values));
  EXPECT_EQ(1 + 0x1p-11f + 0x1p-23f, host_copy(values, 1)[0]);
}

// ---- order of work

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
  const cudaEvent_t event = new_event();
  OK(cudaStreamBeginCapture(one, cudaStreamCaptureModeThreadLocal));
  OK(cudaEventRecord(event, one));
  OK(cudaStreamWaitEvent(two, event));
  OK(start(1, 7, one, meet_other, here, 0, here + 2));
  OK(start(1, 7, two, meet_other, here, 1, here + 2));
  OK(cudaEventRecord(event, two));
  OK(cudaStreamWaitEvent(one, event));
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  OK(cudaStreamEndCapture(one, &graph));
  OK(cudaGraphInstantiate(&exec, graph));
  OK(cudaGraphLaunch(exec, one));
  OK(cudaStreamSynchronize(one));
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

// ---- memory

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

TEST_P(CudaOnCpuDeathTest, VectorsMustBeAligned) {
  float* values = device_copy(std::vector<float>(8, 1.f));
  OK(start(1, 2, nullptr, scale, reinterpret_cast<float4*>(values), 3.f));
  EXPECT_EQ(std::vector<float>(8, 3.f), host_copy(values, 8));
  const auto misalign = [&] {
    auto* moved = reinterpret_cast<char*>(values) + 4;
    static_cast<void>(start(1, 1, nullptr, scale, reinterpret_cast<float4*>(moved), 3.f));
    cudaDeviceSynchronize();
  };
  EXPECT_DEATH(misalign(), "misaligned address");
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

// ---- atomics of a scope

TEST_P(CudaOnCpu, ThreadsOfABlockWaitWithNanosleep) {
  unsigned* flag = device_copy(std::vector<unsigned>{0});
  auto* time = device_copy(std::vector<unsigned long long>{0});
  OK(start(1, 64, nullptr, wait_for, flag, time));
  EXPECT_EQ(1u, host_copy(flag, 1)[0]);
  EXPECT_GE(host_copy(time, 1)[0], GetParam() == std::string("eager") ? 100000u : 0u);
}

TEST_P(CudaOnCpuDeathTest, AtomicsMustBeAlignedAndOfAnOrderThatSuits) {
  char* at = device_copy(std::vector<char>(16));
  OK(start(1, 1, nullptr, store_at, at + 1, int{__NV_ATOMIC_RELEASE}));
  EXPECT_EQ(1, host_copy(at, 16)[1]);
  const auto run = [](auto kernel, auto... args) {
    static_cast<void>(start(1, 1, nullptr, kernel, args...));
    cudaDeviceSynchronize();
  };
  EXPECT_DEATH(run(store_at, at, int{__NV_ATOMIC_ACQUIRE}), "not one of a store");
  EXPECT_DEATH(run(store_int_at, at + 2), "misaligned address");
}

// ---- threads that do not meet

TEST_P(CudaOnCpuDeathTest, DeadlocksAreFound) {
  int* out = device_copy(std::vector<int>(1));
  const auto run = [](auto kernel, auto... args) {
    static_cast<void>(start(1, 128, nullptr, kernel, args...));
    cudaDeviceSynchronize();
  };
  EXPECT_DEATH(run(half_of_the_block_meets),
               "deadlock found.*\n.*__syncthreads at .*\n.*has ended");
  EXPECT_DEATH(run(branches_meet), "different barriers");
  EXPECT_DEATH(run(a_lane_leaves, out), "lanes are missing: 0x00000080");
}

TEST(CudaOnCpuLaunch, ImpossibleShapesAreRefused) {
  with({});
  const auto error = [](dim3 grid, dim3 block) {
    return start(grid, block, nullptr, half_of_the_block_meets);
  };
  for (const dim3 grid :
       {dim3(0), dim3(1, 0), dim3(1, 65536), dim3(1, 1, 65536), dim3(0x80000000u)}) {
    EXPECT_EQ(cudaErrorInvalidConfiguration, error(grid, 32));
  }
  for (const dim3 block : {dim3(0), dim3(1025), dim3(32, 33), dim3(1, 1, 65), dim3(65536, 65536)}) {
    EXPECT_EQ(cudaErrorInvalidConfiguration, error(1, block));
  }
  EXPECT_EQ(cudaErrorInvalidResourceHandle,
            start(1, 1, reinterpret_cast<cudaStream_t>(0x1234), half_of_the_block_meets));
}

// ---- devices

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
