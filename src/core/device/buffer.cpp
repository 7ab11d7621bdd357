// SPDX-License-Identifier: Apache-2.0
#include "device/buffer.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <sys/mman.h>

#include <halocline/error.hpp>

#include "device/allocator.hpp"
#include "device/cuda/runtime.hpp"
#include "device/gpu.hpp"

namespace halocline::device {
namespace {

// Below this a huge page would be mostly unused.
constexpr std::int64_t huge_page_bytes = std::int64_t{2} << 20;

std::shared_ptr<void> allocate_host(std::int64_t bytes) {
  const auto size = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    throw Error(
        ErrorKind::resource,
        fmt::format(
            "could not allocate {:.1f} GB of host memory; use fewer cells per rank or more nodes",
            static_cast<double>(bytes) / 1e9));
  if (bytes >= huge_page_bytes) madvise(memory, size, MADV_HUGEPAGE);  // a hint: may fail
  return {memory, [size](void* address) { munmap(address, size); }};
}

/// CUDA would report a driver that is too old, or that no memory is left.
void require_gpu(Memory memory) {
  if (const auto why = no_gpu_because())
    throw Error(ErrorKind::unavailable,
                fmt::format("{} memory needs a GPU: {}; use host memory", name_of(memory), *why));
}

void require_system_memory() {
  for (const Gpu& gpu : gpus().list)
    if (!gpu.no_system_memory.empty())
      throw Error(ErrorKind::unavailable,
                  fmt::format("{} cannot use system memory: {}; use device or managed memory",
                              gpu.name, gpu.no_system_memory));
}

}  // namespace

std::shared_ptr<void> allocate(Memory memory, std::int64_t bytes) {
  if (memory == Memory::host) return allocate_host(bytes);
  require_gpu(memory);
  if (memory == Memory::system) {
    require_system_memory();
    return allocate_host(bytes);
  }
  return cuda::allocate(memory, bytes);
}

std::shared_ptr<void> allocate(Memory memory, std::int64_t bytes, Allocator allocator) {
  if (allocator == Allocator::ordinary) return allocate(memory, bytes);
  if (memory != Memory::device)
    throw Error(
        ErrorKind::internal,
        fmt::format("an allocator of device memory cannot allocate {} memory", name_of(memory)));
  require_gpu(memory);
  return allocator == Allocator::pool ? cuda::allocate_from_pool(bytes)
                                      : cuda::allocate_virtual(bytes);
}

Memory memory_of(const void* pointer) { return cuda::memory_of(pointer); }

}  // namespace halocline::device

namespace halocline {

std::string_view name_of(Memory memory) {
  switch (memory) {
    case Memory::host:
      return "host";
    case Memory::pinned:
      return "pinned";
    case Memory::device:
      return "device";
    case Memory::managed:
      return "managed";
    case Memory::system:
      return "system";
  }
  return "unknown";
}

Memory memory_at(const void* pointer) {
  const Memory memory = device::memory_of(pointer);
  if (memory != Memory::device) return memory;
  const int its = device::cuda::gpu_of(pointer), current = device::current_gpu().ordinal;
  if (its != current)
    throw Error(
        ErrorKind::usage,
        fmt::format("the memory is that of GPU {}, but this thread's GPU is {}; allocate it "
                    "there, or make its GPU the current one",
                    its, current));
  return memory;
}

}  // namespace halocline
