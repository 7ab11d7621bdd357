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

#include "device/buffer.hpp"
#include "device/gpu.hpp"
#include "device/queue.hpp"
#include "problem/catalogue.hpp"
#include "stencil/fill.hpp"
#include "stencil/sweep.hpp"

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
  const problem::Problem& star7 = problem::find_problem("star7");
  problem::Setting setting{.cells = {37, 22, 19}, .axes = 3, .parameters = {}};
  for (const auto& parameter : star7.info().parameters)
    setting.parameters.push_back(parameter.value);
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
  stencil::fill_start(mirror, star7, setting, 1);
  device::copy(memory[0].get(), host.data(), held * sizeof(double), Stream::host());

  const device::OwnedStream stream;
  Exchange exchanges[2] = {Exchange(self, grid, {levels[0]}), Exchange(self, grid, {levels[1]})};
  const auto sweep =
      stencil::find_backend("cuda").make(star7, setting, problem::Precision::f64, {});
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
float after_two_sweeps(const problem::Start& start, const Int3& cells, Int3 at) {
  const auto value = [&](std::int64_t x, std::int64_t y) {
    if (x < 0 || y < 0 || x >= cells.x || y >= cells.y) return 0.0f;
    double noise = 0;
    start.row({x, y, 0}, 1, &noise);
    return static_cast<float>(noise);
  };
  const auto once = [&](std::int64_t x, std::int64_t y) {
    if (x < 0 || y < 0 || x >= cells.x || y >= cells.y) return 0.0f;
    return 0.25f * ((value(x - 1, y) + value(x + 1, y)) + (value(x, y - 1) + value(x, y + 1)));
  };
  return 0.25f * ((once(at.x - 1, at.y) + once(at.x + 1, at.y)) +
                  (once(at.x, at.y - 1) + once(at.x, at.y + 1)));
}

TEST_F(OnGpu, CountsBeyond32Bits) {
  // 2^31 + 2^16 cells: 8.6 GB each of two levels, and one on the host.
  const Extents cells{65536, 32769};
  if (device::gpu_memory().free_bytes < std::int64_t{20} << 30)
    GTEST_SKIP() << "needs 20 GB of GPU memory";
  const Grid grid(0, 1, {.cells = cells});
  const FieldOptions on_gpu{.name = "u", .memory = Memory::device};
  const Field<float> levels[2] = {Field<float>(grid, on_gpu), Field<float>(grid, on_gpu)};
  const problem::Problem& laplace = problem::find_problem("laplace");
  const problem::Setting setting{.cells = cells.values(), .axes = 2, .parameters = {}};
  const Field<float> host(grid, {.name = "u"});
  stencil::fill_start(host, laplace, setting, 8);
  device::copy(levels[0].bytes(), host.bytes(), host.allocated_bytes(), Stream::host());

  const device::OwnedStream stream;
  const auto norm = device::allocate(Memory::device, sizeof(double));
  const auto sweep =
      stencil::find_backend("cuda").make(laplace, setting, problem::Precision::f32, {});
  for (int s = 0; s < 2; ++s)
    sweep->run({.in = levels[s % 2],
                .out = levels[1 - s % 2],
                .region = grid.owned(),
                .norm = Norm::max,
                .norm_sum = static_cast<double*>(norm.get())},
               stream.get());
  device::synchronize(stream.get());
  device::copy(host.bytes(), levels[0].bytes(), host.allocated_bytes(), Stream::host());
  const auto start = laplace.start(setting, grid.owned());
  for (const std::int64_t y : {std::int64_t{0}, std::int64_t{1}, cells[1] / 2, cells[1] - 1})
    for (std::int64_t x = 0; x < cells[0]; x += 4095)
      ASSERT_EQ(host(x, y), after_two_sweeps(*start, cells.values(), {x, y, 0})) << x << ", " << y;
}

}  // namespace
}  // namespace halocline::test

int main(int argc, char** argv) {
  const halocline::Runtime runtime;
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
