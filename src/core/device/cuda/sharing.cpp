// SPDX-License-Identifier: Apache-2.0
// Memory that processes share: handles of CUDA's runtime, and the driver's virtual memory
// functions, which are looked up at run time, like the driver itself.

#include <cuda.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "device/cuda/check.hpp"
#include "device/cuda/driver.hpp"
#include "device/cuda/runtime.hpp"
#include "device/descriptors.hpp"

namespace halocline::device::cuda {
namespace {

using Kind = MemoryHandle::Kind;

/// The driver's functions, as in CUDA 12.0.
struct VirtualMemory {
  decltype(&cuMemGetAllocationGranularity) granularity;
  decltype(&cuMemCreate) create;
  decltype(&cuMemRelease) release;
  decltype(&cuMemExportToShareableHandle) to_descriptor;
  decltype(&cuMemImportFromShareableHandle) from_descriptor;
  decltype(&cuMemAddressReserve) reserve;
  decltype(&cuMemAddressFree) free_addresses;
  decltype(&cuMemMap) map;
  decltype(&cuMemUnmap) unmap;
  decltype(&cuMemSetAccess) set_access;

  VirtualMemory() {
    find_in_driver(granularity, "cuMemGetAllocationGranularity");
    find_in_driver(create, "cuMemCreate");
    find_in_driver(release, "cuMemRelease");
    find_in_driver(to_descriptor, "cuMemExportToShareableHandle");
    find_in_driver(from_descriptor, "cuMemImportFromShareableHandle");
    find_in_driver(reserve, "cuMemAddressReserve");
    find_in_driver(free_addresses, "cuMemAddressFree");
    find_in_driver(map, "cuMemMap");
    find_in_driver(unmap, "cuMemUnmap");
    find_in_driver(set_access, "cuMemSetAccess");
  }
};

const VirtualMemory& memory_functions() {
  static const VirtualMemory functions;
  return functions;
}

CUmemAllocationProp kind_of_memory() {
  CUmemAllocationProp kind{};
  kind.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  kind.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  kind.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  kind.location.id = current();
  return kind;
}

/// Memory of a GPU that is not mapped to an address yet.
class Physical {
 public:
  explicit Physical(CUmemGenericAllocationHandle handle) : handle_(handle) {}
  ~Physical() { memory_functions().release(handle_); }
  Physical(const Physical&) = delete;
  Physical& operator=(const Physical&) = delete;
  CUmemGenericAllocationHandle get() const { return handle_; }

 private:
  CUmemGenericAllocationHandle handle_;
};

/// Addresses of this process and the memory mapped there; undoes each step separately.
class Mapping {
 public:
  Mapping(const Physical& memory, std::size_t bytes) : bytes_(bytes) {
    require(memory_functions().reserve(&address_, bytes_, 0, 0, 0), "cuMemAddressReserve");
    try {
      require(memory_functions().map(address_, bytes_, 0, memory.get(), 0), "cuMemMap");
      is_mapped_ = true;
      CUmemAccessDesc access{};
      access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
      access.location.id = current();
      access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
      require(memory_functions().set_access(address_, bytes_, &access, 1), "cuMemSetAccess");
    } catch (const Error&) {
      undo();
      throw;
    }
  }
  ~Mapping() {
    // As cudaFree does: waits for all work that may use it.
    cudaDeviceSynchronize();
    undo();
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver's addresses are numbers
  void* get() const { return reinterpret_cast<void*>(address_); }

 private:
  void undo() {
    if (is_mapped_) memory_functions().unmap(address_, bytes_);
    memory_functions().free_addresses(address_, bytes_);
  }

  CUdeviceptr address_ = 0;
  std::size_t bytes_;
  bool is_mapped_ = false;
};

/// The content of a handle.
struct Named {
  DescriptorName name;
  std::uint64_t bytes;
};
static_assert(sizeof(Named) <= sizeof(MemoryHandle::bytes));

/// All memory from allocate_virtual().
class Names {
 public:
  /// Never destroyed, since memory may be released at the very end of the program.
  static Names& all() {
    static Names& only = *new Names();
    return only;
  }
  void add(const void* memory, const Named& named) {
    const std::lock_guard lock(mutex_);
    names_[memory] = named;
  }
  void remove(const void* memory) {
    const std::lock_guard lock(mutex_);
    names_.erase(memory);
  }
  bool find(const void* memory, Named& named) {
    const std::lock_guard lock(mutex_);
    const auto found = names_.find(memory);
    if (found != names_.end()) named = found->second;
    return found != names_.end();
  }

 private:
  std::mutex mutex_;
  std::map<const void*, Named> names_;
};

CUmemGenericAllocationHandle create(std::size_t bytes, const CUmemAllocationProp& kind) {
  CUmemGenericAllocationHandle handle{};
  const CUresult result = memory_functions().create(&handle, bytes, &kind, 0);
  if (result == CUDA_ERROR_OUT_OF_MEMORY)
    refuse_size(Memory::device, static_cast<std::int64_t>(bytes));
  require(result, "cuMemCreate");
  return handle;
}

int descriptor_of(const Physical& physical) {
  int descriptor = -1;
  require(memory_functions().to_descriptor(&descriptor, physical.get(),
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
          "cuMemExportToShareableHandle");
  return descriptor;
}

CUmemGenericAllocationHandle import(int descriptor) {
  CUmemGenericAllocationHandle handle{};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): CUDA takes a descriptor as an address
  void* const shared = reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor));
  const CUresult result =
      memory_functions().from_descriptor(&handle, shared, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  close(descriptor);
  require(result, "cuMemImportFromShareableHandle");
  return handle;
}

/// Memory of this process that others map by a descriptor.
struct Shareable {
  Physical physical;
  Mapping mapping;
  OfferedDescriptor offer;

  Shareable(std::size_t bytes, const CUmemAllocationProp& kind)
      : physical(create(bytes, kind)), mapping(physical, bytes), offer(descriptor_of(physical)) {
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
        : physical(import(descriptor)), mapping(physical, bytes) {}
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
  const CUmemAllocationProp kind = kind_of_memory();
  std::size_t step = 0;
  require(memory_functions().granularity(&step, &kind, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
          "cuMemGetAllocationGranularity");
  const auto wanted = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
  const std::size_t size = (wanted + step - 1) / step * step;

  const auto made = std::make_shared<Shareable>(size, kind);
  clear(made->mapping.get(), static_cast<std::int64_t>(size), Stream::host());
  return {made, made->mapping.get()};
}

MemoryHandle handle_of(const void* memory) {
  if (Named named{}; Names::all().find(memory, named)) return pack(Kind::descriptor, named);
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
