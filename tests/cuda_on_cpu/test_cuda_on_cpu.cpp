// SPDX-License-Identifier: Apache-2.0
// Kernels of the test double: what it promises in README.md. And the orders that all tests run in.

#include <cuda_runtime.h>

#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace cuda_on_cpu::test
