// SPDX-License-Identifier: Apache-2.0
// Kernels whose blocks wait for each other, and shared memory whose size the launch says.

#include <cuda_runtime.h>

#include <array>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace {

#define OK(call) ASSERT_EQ(cudaSuccess, (call))

cudaLaunchConfig_t cooperative(unsigned blocks, unsigned threads, cudaLaunchAttribute& attribute) {
  attribute.id = cudaLaunchAttributeCooperative;
  attribute.val.cooperative = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  config.attrs = &attribute;
  config.numAttrs = 1;
  return config;
}

/// Each block adds up what it and its neighbours in a ring have had so far, `turns` times, all
/// threads waiting for both.
__global__ void add_neighbours(unsigned long long* values, unsigned* turn_of, unsigned turns) {
  const unsigned blocks = gridDim.x, me = blockIdx.x;
  const unsigned beside[2] = {(me + blocks - 1) % blocks, (me + 1) % blocks};
  __shared__ unsigned long long mine;
  for (unsigned turn = 0; turn < turns; ++turn) {
    const unsigned long long* const now = values + turn % 2 * blocks;
    for (const unsigned other : beside)
      while (__nv_atomic_load_n(turn_of + other, __NV_ATOMIC_ACQUIRE) < turn) __nanosleep(20);
    if (threadIdx.x == 0) mine = now[me] + now[beside[0]] + now[beside[1]];
    __syncthreads();
    if (threadIdx.x == blockDim.x - 1) {
      values[(turn + 1) % 2 * blocks + me] = mine;
      __nv_atomic_store_n(turn_of + me, turn + 1, __NV_ATOMIC_RELEASE);
    }
    __syncthreads();
  }
}

TEST(Cooperative, BlocksGoOnTogether) {
  constexpr unsigned blocks = 8, threads = 64, turns = 40;
  unsigned long long* values = nullptr;
  unsigned* turn_of = nullptr;
  OK(cudaMalloc(&values, 2 * blocks * sizeof *values));
  OK(cudaMalloc(&turn_of, blocks * sizeof *turn_of));
  std::array<unsigned long long, 2 * blocks> now{1, 2, 3, 4, 5, 6, 7, 8};
  OK(cudaMemcpy(values, now.data(), sizeof now, cudaMemcpyDefault));
  OK(cudaMemset(turn_of, 0, blocks * sizeof *turn_of));
  cudaLaunchAttribute attribute{};
  const cudaLaunchConfig_t config = cooperative(blocks, threads, attribute);
  OK(cudaLaunchKernelEx(&config, add_neighbours, values, turn_of, turns));
  std::array<unsigned long long, 2 * blocks> got{};
  OK(cudaMemcpy(got.data(), values, sizeof got, cudaMemcpyDefault));
  for (unsigned turn = 0; turn < turns; ++turn) {
    const unsigned from = turn % 2 * blocks, to = (turn + 1) % 2 * blocks;
    for (unsigned i = 0; i < blocks; ++i)
      now[to + i] = now[from + i] + now[from + (i + 1) % blocks] + now[from + (i + 7) % blocks];
  }
  EXPECT_EQ(got, now);
  OK(cudaFree(values));
  OK(cudaFree(turn_of));
}

__global__ void count_in_block_memory(int* out, int count) {
  auto* const bytes = static_cast<std::uint8_t*>(cuda_on_cpu::block_memory());
  if (threadIdx.x == 0) {
    for (int i = 0; i < count; ++i) out[blockIdx.x] += bytes[i] == 0xa5 ? 1 : 0;
    for (int i = 0; i < count; ++i) bytes[i] = 1;
  }
}

TEST(Cooperative, BlocksBeginWithSharedMemoryThatNobodyHasWritten) {
  constexpr int blocks = 3, bytes = 1000;
  int* counted = nullptr;
  OK(cudaMalloc(&counted, blocks * sizeof *counted));
  OK(cudaMemset(counted, 0, blocks * sizeof *counted));
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(32);
  config.dynamicSmemBytes = bytes;
  OK(cudaLaunchKernelEx(&config, count_in_block_memory, counted, bytes));
  std::array<int, blocks> got{};
  OK(cudaMemcpy(got.data(), counted, sizeof got, cudaMemcpyDefault));
  EXPECT_EQ(got, (std::array{bytes, bytes, bytes}));
  OK(cudaFree(counted));
}

__global__ void nothing() {}

TEST(Cooperative, AllBlocksMustFindRoom) {
  int multiprocessors = 0, per_multiprocessor = 0, most_shared = 0, cooperates = 0;
  OK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
  OK(cudaDeviceGetAttribute(&most_shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
  OK(cudaDeviceGetAttribute(&cooperates, cudaDevAttrCooperativeLaunch, 0));
  EXPECT_EQ(cooperates, 1);
  const auto shared = static_cast<std::size_t>(most_shared);
  OK(cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, most_shared));
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{112 * 1024}, shared}) {
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, nothing, 512, bytes));
    EXPECT_EQ(per_multiprocessor, bytes == 0 ? 4 : bytes == shared ? 1 : 2);
    const auto room = static_cast<unsigned>(multiprocessors * per_multiprocessor);
    cudaLaunchAttribute attribute{};
    cudaLaunchConfig_t config = cooperative(room, 512, attribute);
    config.dynamicSmemBytes = bytes;
    OK(cudaLaunchKernelEx(&config, nothing));
    config.gridDim.x = room + 1;
    EXPECT_EQ(cudaLaunchKernelEx(&config, nothing), cudaErrorCooperativeLaunchTooLarge);
    attribute.val.cooperative = 0;
    OK(cudaLaunchKernelEx(&config, nothing));
  }
  cudaLaunchConfig_t config{};
  config.gridDim = config.blockDim = dim3(1);
  config.dynamicSmemBytes = shared + 1;
  EXPECT_EQ(cudaLaunchKernelEx(&config, nothing), cudaErrorInvalidValue);
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, nothing, 512, shared + 1));
  EXPECT_EQ(per_multiprocessor, 0);
  OK(cudaDeviceSynchronize());
}

__global__ void nothing_else() {}

TEST(Cooperative, SharedMemoryIsLimitedByTheLastWish) {
  constexpr int wish = 64 * 1024;
  constexpr std::size_t without_a_wish = 48 * 1024;
  cudaLaunchAttribute attribute{};
  cudaLaunchConfig_t config = cooperative(1, 32, attribute);
  const auto expect_limit = [&](std::size_t limit) {
    for (const std::size_t bytes : {limit, limit + 1}) {
      const bool is_within = bytes == limit;
      config.dynamicSmemBytes = bytes;
      attribute.val.cooperative = 1;
      EXPECT_EQ(cudaLaunchKernelEx(&config, nothing_else),
                is_within ? cudaSuccess : cudaErrorCooperativeLaunchTooLarge);
      attribute.val.cooperative = 0;
      EXPECT_EQ(cudaLaunchKernelEx(&config, nothing_else),
                is_within ? cudaSuccess : cudaErrorInvalidValue);
      int blocks = 0;
      OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nothing_else, 32, bytes));
      EXPECT_EQ(blocks > 0, is_within);
    }
  };
  expect_limit(without_a_wish);
  OK(cudaFuncSetAttribute(nothing_else, cudaFuncAttributeMaxDynamicSharedMemorySize, wish));
  expect_limit(wish);
  OK(cudaFuncSetAttribute(nothing_else, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024));
  expect_limit(1024);
  OK(cudaDeviceSynchronize());
}

}  // namespace
