// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/check.hpp"
#include "gpu/managed_pages.hpp"

namespace halocline::gpu {
namespace {

int current_ordinal() {
  int ordinal = 0;
  device::cuda::check(cudaGetDevice(&ordinal), "cudaGetDevice");
  return ordinal;
}

}  // namespace

std::optional<std::string> no_prefetch_because() {
  int able = 0;
  device::cuda::check(
      cudaDeviceGetAttribute(&able, cudaDevAttrConcurrentManagedAccess, current_ordinal()),
      "cudaDeviceGetAttribute");
  if (able != 0) return std::nullopt;
  return "CUDA takes no wishes about pages of managed memory here (concurrentManagedAccess is 0)";
}

void prefetch(void* memory, std::int64_t bytes, Side to, Stream stream) {
  const auto size = static_cast<std::size_t>(bytes);
  const cudaStream_t native = device::cuda::native(stream);
#if CUDART_VERSION >= 13000
  const cudaMemLocation place = to == Side::host
                                    ? cudaMemLocation{cudaMemLocationTypeHost, 0}
                                    : cudaMemLocation{cudaMemLocationTypeDevice, current_ordinal()};
  constexpr unsigned no_flags = 0;
  device::cuda::check(cudaMemPrefetchAsync(memory, size, place, no_flags, native),
                      "cudaMemPrefetchAsync");
#else
  const int place = to == Side::host ? cudaCpuDeviceId : current_ordinal();
  device::cuda::check(cudaMemPrefetchAsync(memory, size, place, native), "cudaMemPrefetchAsync");
#endif
}

}  // namespace halocline::gpu
