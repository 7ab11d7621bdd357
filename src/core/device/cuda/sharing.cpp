// SPDX-License-Identifier: Apache-2.0
// Memory that processes share: handles of CUDA's runtime, and descriptors of virtual memory.

#include <algorithm>
#include <cstring>

#include "device/cuda/check.hpp"
#include "device/cuda/known_memory.hpp"
#include "device/cuda/runtime.hpp"
#include "device/cuda/virtual_memory.hpp"
#include "device/descriptors.hpp"

namespace halocline::device::cuda {
namespace {

using Kind = MemoryHandle::Kind;

/// The content of a handle.
struct Named {
  DescriptorName name;
  std::uint64_t bytes;
};
static_assert(sizeof(Named) <= sizeof(MemoryHandle::bytes));

/// All memory from allocate_virtual().
using Names = KnownMemory<Named>;

/// Memory of this process that others map by a descriptor.
struct Shareable {
  Physical physical;
  Mapping mapping;
  OfferedDescriptor offer;

  explicit Shareable(std::size_t bytes)
      : physical(bytes), mapping({&physical}), offer(physical.make_descriptor()) {
    Names::all().add(mapping.get(), {offer.name(), bytes});
  }
  ~Shareable() { Names::all().remove(mapping.get()); }
  Shareable(const Shareable&) = delete;
  Shareable& operator=(const Shareable&) = delete;
};

std::shared_ptr<void> map_descriptor(const Named& named, std::chrono::duration<double> limit) {
  struct Imported {
    Physical physical;
    Mapping mapping;
    Imported(int descriptor, std::size_t bytes)
        : physical(descriptor, bytes), mapping({&physical}) {}
  };
  const auto imported =
      std::make_shared<Imported>(fetch_descriptor(named.name, limit), named.bytes);
  return {imported, imported->mapping.get()};
}

std::shared_ptr<void> map_cuda(const cudaIpcMemHandle_t& handle) {
  void* memory = nullptr;
  check(cudaIpcOpenMemHandle(&memory, handle, cudaIpcMemLazyEnablePeerAccess),
        "cudaIpcOpenMemHandle");
  return {memory, [](void* mapped) { cudaIpcCloseMemHandle(mapped); }};
}

template <class Content>
MemoryHandle pack(Kind kind, const Content& content) {
  static_assert(sizeof(content) <= sizeof(MemoryHandle::bytes));
  MemoryHandle handle{.kind = kind, .bytes = {}};
  std::memcpy(handle.bytes.data(), &content, sizeof(content));
  return handle;
}

template <class Content>
Content unpack(const MemoryHandle& handle) {
  Content content{};
  std::memcpy(&content, handle.bytes.data(), sizeof(content));
  return content;
}

}  // namespace

std::shared_ptr<void> allocate_virtual(std::int64_t bytes) {
  const std::int64_t page = page_bytes();
  const std::int64_t size = (std::max<std::int64_t>(bytes, 1) + page - 1) / page * page;

  const auto made = std::make_shared<Shareable>(static_cast<std::size_t>(size));
  clear(made->mapping.get(), size, Stream::host());
  return {made, made->mapping.get()};
}

MemoryHandle handle_of(const void* memory) {
  if (const auto named = Names::all().find(memory)) return pack(Kind::descriptor, *named);
  cudaIpcMemHandle_t handle{};
  // CUDA only reads through it.
  check(cudaIpcGetMemHandle(&handle, const_cast<void*>(memory)), "cudaIpcGetMemHandle");
  return pack(Kind::cuda, handle);
}

std::shared_ptr<void> map(const MemoryHandle& handle, std::chrono::duration<double> limit) {
  if (handle.kind == Kind::descriptor) return map_descriptor(unpack<Named>(handle), limit);
  return map_cuda(unpack<cudaIpcMemHandle_t>(handle));
}

}  // namespace halocline::device::cuda
