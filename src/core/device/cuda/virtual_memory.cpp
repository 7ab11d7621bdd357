// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/virtual_memory.hpp"

#include <unistd.h>

#include <cstdint>

#include <halocline/error.hpp>

#include "device/cuda/check.hpp"
#include "device/cuda/driver.hpp"
#include "device/cuda/runtime.hpp"

namespace halocline::device::cuda {
namespace {

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

}  // namespace

std::int64_t page_bytes() {
  const CUmemAllocationProp kind = kind_of_memory();
  std::size_t bytes = 0;
  require(memory_functions().granularity(&bytes, &kind, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
          "cuMemGetAllocationGranularity");
  return static_cast<std::int64_t>(bytes);
}

Physical::Physical(std::size_t bytes) : bytes_(bytes) {
  const CUmemAllocationProp kind = kind_of_memory();
  const CUresult result = memory_functions().create(&handle_, bytes, &kind, 0);
  if (result == CUDA_ERROR_OUT_OF_MEMORY)
    refuse_size(Memory::device, static_cast<std::int64_t>(bytes));
  require(result, "cuMemCreate");
}

Physical::Physical(int descriptor, std::size_t bytes) : bytes_(bytes) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): CUDA takes a descriptor as an address
  void* const shared = reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor));
  const CUresult result = memory_functions().from_descriptor(
      &handle_, shared, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  close(descriptor);
  require(result, "cuMemImportFromShareableHandle");
}

Physical::~Physical() { memory_functions().release(handle_); }

int Physical::make_descriptor() const {
  int descriptor = -1;
  require(memory_functions().to_descriptor(&descriptor, handle_,
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
          "cuMemExportToShareableHandle");
  return descriptor;
}

Mapping::Mapping(const std::vector<const Physical*>& pieces) {
  for (const Physical* piece : pieces) bytes_ += piece->bytes();
  require(memory_functions().reserve(&address_, bytes_, 0, 0, 0), "cuMemAddressReserve");
  try {
    CUdeviceptr at = address_;
    for (const Physical* piece : pieces) {
      require(memory_functions().map(at, piece->bytes(), 0, piece->get(), 0), "cuMemMap");
      mapped_.push_back(piece->bytes());
      at += piece->bytes();
    }
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

Mapping::~Mapping() {
  cudaDeviceSynchronize();
  undo();
}

void Mapping::undo() {
  CUdeviceptr at = address_;
  for (const std::size_t bytes : mapped_) {
    memory_functions().unmap(at, bytes);
    at += bytes;
  }
  memory_functions().free_addresses(address_, bytes_);
}

}  // namespace halocline::device::cuda
