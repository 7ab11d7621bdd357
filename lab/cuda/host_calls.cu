// SPDX-License-Identifier: Apache-2.0
#include <atomic>

#include "device/cuda/check.hpp"
#include "device/cuda/launch.cuh"
#include "lab/host_calls.hpp"

namespace halocline::bench {
namespace {

__global__ void do_nothing() {}

void count_up(void* calls) {
  std::atomic_ref(*static_cast<std::int64_t*>(calls)).fetch_add(1, std::memory_order_release);
}

}  // namespace

void launch_nothing(Stream stream) { device::cuda::launch(do_nothing, 1, 1, stream); }

void count_on_host(Stream stream, std::int64_t& calls) {
  device::cuda::check(cudaLaunchHostFunc(device::cuda::native(stream), count_up, &calls),
                      "cudaLaunchHostFunc");
}

std::int64_t calls_so_far(const std::int64_t& calls) {
  return std::atomic_ref(const_cast<std::int64_t&>(calls)).load(std::memory_order_acquire);
}

Registered::Registered(void* memory, std::int64_t bytes) : memory_(memory) {
  device::cuda::check(
      cudaHostRegister(memory, static_cast<std::size_t>(bytes), cudaHostRegisterDefault),
      "cudaHostRegister");
}

Registered::~Registered() { cudaHostUnregister(memory_); }

}  // namespace halocline::bench
