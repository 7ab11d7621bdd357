// SPDX-License-Identifier: Apache-2.0
// What only a real GPU can show: memory from CUDA's other allocators, and sizes beyond 32 bits.
// tests/gpu/run runs it, with everything else that wants a GPU.

#include <cuda.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <halocline/halocline.hpp>

#include "../support/function_bits.hpp"
#include "device/buffer.hpp"
#include "device/gpu.hpp"
#include "device/queue.hpp"
#include "program/noise.hpp"
#include "stencil/fill.hpp"
#include "stencil/sweep.hpp"
#include "support/models.hpp"

namespace halocline::test {
namespace {

class OnGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (device::gpus().list.empty()) {
      // Only in name a test: run where there is a GPU, or not at all.
      GTEST_SKIP() << device::gpus().none_because;
    }
    device::use(device::gpus().list.front());
  }
};

void ok(cudaError_t error) { ASSERT_EQ(error, cudaSuccess) << cudaGetErrorString(error); }
void ok(CUresult error) { ASSERT_EQ(error, CUDA_SUCCESS); }

template <class Function>
Function driver_function(const char* name) {
  void* address = nullptr;
  cudaDriverEntryPointQueryResult found{};
  EXPECT_EQ(cudaGetDriverEntryPointByVersion(name, &address, 12000, cudaEnableDefault, &found),
            cudaSuccess);
  EXPECT_EQ(found, cudaDriverEntryPointSuccess) << name;
  return reinterpret_cast<Function>(address);
}

/// Device memory as CUDA's virtual memory functions make it: no IPC handle, no cudaMalloc.
std::shared_ptr<void> make_vmm_memory(std::size_t wanted) {
  const auto granularity =
      driver_function<decltype(&cuMemGetAllocationGranularity)>("cuMemGetAllocationGranularity");
  const auto create = driver_function<decltype(&cuMemCreate)>("cuMemCreate");
  const auto reserve = driver_function<decltype(&cuMemAddressReserve)>("cuMemAddressReserve");
  const auto map = driver_function<decltype(&cuMemMap)>("cuMemMap");
  const auto set_access = driver_function<decltype(&cuMemSetAccess)>("cuMemSetAccess");
  const auto unmap = driver_function<decltype(&cuMemUnmap)>("cuMemUnmap");
  const auto release = driver_function<decltype(&cuMemRelease)>("cuMemRelease");
  const auto free_address = driver_function<decltype(&cuMemAddressFree)>("cuMemAddressFree");

  CUmemAllocationProp kind{};
  kind.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  kind.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  std::size_t step = 0;
  ok(granularity(&step, &kind, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  const std::size_t size = (wanted + step - 1) / step * step;
  CUmemGenericAllocationHandle handle{};
  CUdeviceptr address{};
  ok(create(&handle, size, &kind, 0));
  ok(reserve(&address, size, 0, 0, 0));
  ok(map(address, size, 0, handle, 0));
  const CUmemAccessDesc access{kind.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  ok(set_access(address, size, &access, 1));
  ok(cudaMemset(reinterpret_cast<void*>(address), 0, size));
  return {reinterpret_cast<void*>(address), [=](void*) {
            unmap(address, size);
            release(handle);
            free_address(address, size);
          }};
}

std::shared_ptr<void> make_pool_memory(std::size_t size) {
  void* memory = nullptr;
  ok(cudaMallocAsync(&memory, size, cudaStreamPerThread));
  ok(cudaMemsetAsync(memory, 0, size, cudaStreamPerThread));
  ok(cudaStreamSynchronize(cudaStreamPerThread));
  return {memory, [](void* address) { cudaFreeAsync(address, cudaStreamPerThread); }};
}

/// A periodic problem in the user's memory, `sweeps` sweeps with an exchange before each.
template <class MakeMemory>
std::vector<double> solve_in(const MakeMemory& make_memory, int sweeps) {
  const problem::Model star7 = built_in("star7", {37, 22, 19});
  const Communicator self = Communicator::self();
  const Grid grid(0, 1, {.cells = {37, 22, 19}, .periodic = {true, true, true}});
  constexpr std::int64_t row = 41, plane = row * 24, held = plane * 21, first = 1 + row + plane;
  const std::shared_ptr<void> memory[2] = {make_memory(held * sizeof(double)),
                                           make_memory(held * sizeof(double))};
  const Strides strides{.x = 1, .y = row, .z = plane};
  const FieldOptions options{.name = "u", .memory = Memory::device};
  const Field<double> levels[2] = {
      Field<double>(grid, static_cast<double*>(memory[0].get()) + first, strides, options),
      Field<double>(grid, static_cast<double*>(memory[1].get()) + first, strides, options)};

  std::vector<double> host(held);
  const Field<double> mirror(grid, host.data() + first, strides, {.name = "u"});
  stencil::fill_start(mirror, star7, star7.fields[0].initial.expression, 1);
  device::copy(memory[0].get(), host.data(), held * sizeof(double), Stream::host());

  const device::OwnedStream stream;
  Exchange exchanges[2] = {Exchange(self, grid, {levels[0]}), Exchange(self, grid, {levels[1]})};
  const auto sweep = stencil::find_backend("cuda").make(star7, {});
  for (int s = 0; s < sweeps; ++s) {
    exchanges[s % 2].run(stream.get());
    sweep->run({.in = levels[s % 2], .out = levels[1 - s % 2], .region = grid.owned()},
               stream.get());
  }
  device::synchronize(stream.get());
  device::copy(host.data(), memory[sweeps % 2].get(), held * sizeof(double), Stream::host());
  std::vector<double> owned;
  for (std::int64_t z = 0; z < 19; ++z)
    for (std::int64_t y = 0; y < 22; ++y)
      for (std::int64_t x = 0; x < 37; ++x) owned.push_back(mirror(x, y, z));
  return owned;
}

TEST_F(OnGpu, PoolAndVirtualMemoryGiveWhatCudaMallocGives) {
  const std::vector<double> expected = solve_in(
      [](std::size_t size) {
        return device::allocate(Memory::device, static_cast<std::int64_t>(size));
      },
      7);
  EXPECT_NE(expected.front(), 0);
  EXPECT_EQ(solve_in(make_pool_memory, 7), expected);
  EXPECT_EQ(solve_in(make_vmm_memory, 7), expected);
}

/// Two sweeps of laplace at a cell, from the formula of the start alone.
float after_two_sweeps(const Int3& cells, Int3 at) {
  const auto value = [&](std::int64_t x, std::int64_t y) {
    if (x < 0 || y < 0 || x >= cells.x || y >= cells.y) return 0.0f;
    return static_cast<float>(program::noise(12345, static_cast<std::uint64_t>(x + cells.x * y)));
  };
  const auto once = [&](std::int64_t x, std::int64_t y) {
    if (x < 0 || y < 0 || x >= cells.x || y >= cells.y) return 0.0f;
    return 0.25f * ((value(x - 1, y) + value(x + 1, y)) + (value(x, y - 1) + value(x, y + 1)));
  };
  return 0.25f * ((once(at.x - 1, at.y) + once(at.x + 1, at.y)) +
                  (once(at.x, at.y - 1) + once(at.x, at.y + 1)));
}

template <Function function, class Real>
__global__ void evaluate(Real* values) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < hashed_arguments)
    values[i] = value_of<function>(argument<Real>(i, 0), argument<Real>(i, 1));
}

template <Function function, class Real>
Bits hash_on_gpu() {
  constexpr std::size_t bytes = hashed_arguments * sizeof(Real);
  const auto memory = device::allocate(Memory::device, static_cast<std::int64_t>(bytes));
  evaluate<function><<<(hashed_arguments + 127) / 128, 128>>>(static_cast<Real*>(memory.get()));
  std::vector<Real> values(hashed_arguments);
  ok(cudaGetLastError());
  ok(cudaMemcpy(values.data(), memory.get(), bytes, cudaMemcpyDeviceToHost));
  Bits sum = 0;
  for (int i = 0; i < hashed_arguments; ++i) sum += term(i, values[static_cast<std::size_t>(i)]);
  return sum;
}

template <Function function>
void expect_hashes_on_gpu() {
  constexpr auto number = static_cast<std::size_t>(function);
  EXPECT_EQ((hash_on_gpu<function, float>()), expected_hashes[number].of_float) << number;
  EXPECT_EQ((hash_on_gpu<function, double>()), expected_hashes[number].of_double) << number;
}

TEST_F(OnGpu, FunctionsHaveTheBitsOfTheHost) {
  expect_hashes_on_gpu<Function::exp>();
  expect_hashes_on_gpu<Function::log>();
  expect_hashes_on_gpu<Function::sin>();
  expect_hashes_on_gpu<Function::cos>();
  expect_hashes_on_gpu<Function::tanh>();
  expect_hashes_on_gpu<Function::pow>();
}

TEST_F(OnGpu, CountsBeyond32Bits) {
  // 2^31 + 2^16 cells: 8.6 GB each of two levels, and one on the host.
  const Extents cells{65536, 32769};
  if (device::gpu_memory().free_bytes < std::int64_t{20} << 30)
    GTEST_SKIP() << "needs 20 GB of GPU memory";
  const Grid grid(0, 1, {.cells = cells});
  const FieldOptions on_gpu{.name = "u", .memory = Memory::device};
  const Field<float> levels[2] = {Field<float>(grid, on_gpu), Field<float>(grid, on_gpu)};
  const problem::Model laplace = built_in("laplace", cells, {.precision = Precision::f32});
  const Field<float> host(grid, {.name = "u"});
  stencil::fill_start(host, laplace, laplace.fields[0].initial.expression, 8);
  device::copy(levels[0].bytes(), host.bytes(), host.allocated_bytes(), Stream::host());

  const device::OwnedStream stream;
  const auto norm = device::allocate(Memory::device, sizeof(double));
  const auto sweep = stencil::find_backend("cuda").make(laplace, {});
  for (int s = 0; s < 2; ++s)
    sweep->run({.in = levels[s % 2],
                .out = levels[1 - s % 2],
                .region = grid.owned(),
                .norms = {.kind = Norm::max, .sum = static_cast<double*>(norm.get())}},
               stream.get());
  device::synchronize(stream.get());
  device::copy(host.bytes(), levels[0].bytes(), host.allocated_bytes(), Stream::host());
  for (const std::int64_t y : {std::int64_t{0}, std::int64_t{1}, cells[1] / 2, cells[1] - 1})
    for (std::int64_t x = 0; x < cells[0]; x += 4095)
      ASSERT_EQ(host(x, y), after_two_sweeps(cells.values(), {x, y, 0})) << x << ", " << y;
}

}  // namespace
}  // namespace halocline::test

int main(int argc, char** argv) {
  const halocline::Runtime runtime;
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
