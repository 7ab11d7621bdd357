// SPDX-License-Identifier: Apache-2.0
// The driver's calls about virtual memory, and how they are found.

#include <map>
#include <string_view>
#include <vector>

#include "cuda.h"
#include "runtime.hpp"

using cuda_on_cpu::Block;
using cuda_on_cpu::Call;
using cuda_on_cpu::Needs;
using cuda_on_cpu::Runtime;
using cuda_on_cpu::VirtualMemory;

namespace {

/// The frame of a driver's call, which leaves no error for cudaGetLastError.
template <class Body>
CUresult driver_call(Body&& body) {
  const Call frame(Needs::context);
  if (frame.error() != cudaSuccess) return CUDA_ERROR_NOT_INITIALIZED;
  return body(cuda_on_cpu::runtime());
}

std::byte* address_of(CUdeviceptr ptr) { return reinterpret_cast<std::byte*>(ptr); }

CUresult result_of(bool worked) { return worked ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; }

CUresult check(const Runtime& runtime, const CUmemAllocationProp* prop) {
  if (!prop || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED ||
      prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return runtime.devices.valid(prop->location.id) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

template <class Function>
void* address_of_function(Function* function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace

extern "C" {

CUresult cuGetErrorName(CUresult error, const char** name) {
  static const std::map<CUresult, const char*> names{
      {CUDA_SUCCESS, "CUDA_SUCCESS"},
      {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"},
      {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
      {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED"},
      {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE"},
      {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE"},
      {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED"}};
  const auto found = names.find(error);
  *name = found == names.end() ? nullptr : found->second;
  return result_of(*name != nullptr);
}

CUresult cuMemGetAllocationGranularity(std::size_t* granularity, const CUmemAllocationProp* prop,
                                       CUmemAllocationGranularity_flags) {
  return driver_call([&](Runtime& runtime) {
    if (!granularity) return CUDA_ERROR_INVALID_VALUE;
    *granularity = VirtualMemory::granularity;
    return check(runtime, prop);
  });
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, std::size_t size,
                     const CUmemAllocationProp* prop, unsigned long long flags) {
  return driver_call([&](Runtime& runtime) {
    if (!runtime.settings.vmm) return CUDA_ERROR_NOT_SUPPORTED;
    if (!handle || size == 0 || size % VirtualMemory::granularity != 0 || flags != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (const CUresult error = check(runtime, prop); error != CUDA_SUCCESS) return error;
    // What nobody else can map is not emulated.
    if (prop->requestedHandleTypes != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
      return CUDA_ERROR_NOT_SUPPORTED;
    }
    const int device = prop->location.id;
    const auto made = runtime.virtual_memory.create(size, device, runtime.devices.index(device));
    if (made) *handle = *made;
    return made ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
  });
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  return driver_call(
      [&](Runtime& runtime) { return result_of(runtime.virtual_memory.release(handle)); });
}

CUresult cuMemExportToShareableHandle(void* shareable, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType type, unsigned long long flags) {
  return driver_call([&](Runtime& runtime) {
    if (!shareable || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || flags != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const int descriptor = runtime.virtual_memory.export_descriptor(handle);
    if (descriptor < 0) return CUDA_ERROR_INVALID_HANDLE;
    *static_cast<int*>(shareable) = descriptor;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* shareable,
                                        CUmemAllocationHandleType type) {
  return driver_call([&](Runtime& runtime) {
    if (!runtime.settings.vmm) return CUDA_ERROR_NOT_SUPPORTED;
    if (!handle || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const auto descriptor = static_cast<int>(reinterpret_cast<std::intptr_t>(shareable));
    const auto found = runtime.virtual_memory.import_descriptor(descriptor);
    if (found) *handle = *found;
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuMemAddressReserve(CUdeviceptr* ptr, std::size_t size, std::size_t alignment, CUdeviceptr,
                             unsigned long long flags) {
  return driver_call([&](Runtime& runtime) {
    if (!ptr || size == 0 || size % VirtualMemory::granularity != 0 || alignment != 0 ||
        flags != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    std::byte* const begin = runtime.virtual_memory.reserve(size);
    *ptr = reinterpret_cast<CUdeviceptr>(begin);
    return begin ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
  });
}

CUresult cuMemAddressFree(CUdeviceptr ptr, std::size_t size) {
  return driver_call([&](Runtime& runtime) {
    return result_of(runtime.virtual_memory.free_addresses(address_of(ptr), size));
  });
}

CUresult cuMemMap(CUdeviceptr ptr, std::size_t size, std::size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long flags) {
  return driver_call([&](Runtime& runtime) {
    return result_of(offset == 0 && flags == 0 &&
                     runtime.virtual_memory.map(address_of(ptr), size, handle));
  });
}

// Waits for nothing: whoever unmaps what a kernel still uses faults.
CUresult cuMemUnmap(CUdeviceptr ptr, std::size_t size) {
  return driver_call([&](Runtime& runtime) {
    return result_of(runtime.virtual_memory.unmap(address_of(ptr), size));
  });
}

CUresult cuMemSetAccess(CUdeviceptr ptr, std::size_t size, const CUmemAccessDesc* desc,
                        std::size_t count) {
  return driver_call([&](Runtime& runtime) {
    if (!desc || count != 1 || desc->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE ||
        desc->location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const int device = desc->location.id;
    if (!runtime.devices.valid(device)) return CUDA_ERROR_INVALID_DEVICE;
    std::vector<Block*> blocks;
    std::byte* const end = address_of(ptr) + size;
    for (std::byte* at = address_of(ptr); at < end; at += blocks.back()->bytes) {
      const auto index = runtime.virtual_memory.index_at(at);
      if (!index) return CUDA_ERROR_INVALID_VALUE;
      if (!runtime.settings.p2p && *index != runtime.devices.index(device)) {
        return CUDA_ERROR_INVALID_DEVICE;
      }
      blocks.push_back(runtime.memory.find(at));
    }
    if (blocks.empty() || blocks.back()->begin + blocks.back()->bytes != end) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    for (Block* const block : blocks) runtime.memory.give_access(*block, device);
    return CUDA_SUCCESS;
  });
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** funcPtr, unsigned,
                                             unsigned long long flags,
                                             cudaDriverEntryPointQueryResult* driverStatus) {
  return cuda_on_cpu::call(Needs::device, [&](Runtime&) {
    static const std::map<std::string_view, void*> functions{
#define CUDA_ON_CPU_FUNCTION(name) {#name, address_of_function(name)}
        CUDA_ON_CPU_FUNCTION(cuGetErrorName),
        CUDA_ON_CPU_FUNCTION(cuMemGetAllocationGranularity),
        CUDA_ON_CPU_FUNCTION(cuMemCreate),
        CUDA_ON_CPU_FUNCTION(cuMemRelease),
        CUDA_ON_CPU_FUNCTION(cuMemExportToShareableHandle),
        CUDA_ON_CPU_FUNCTION(cuMemImportFromShareableHandle),
        CUDA_ON_CPU_FUNCTION(cuMemAddressReserve),
        CUDA_ON_CPU_FUNCTION(cuMemAddressFree),
        CUDA_ON_CPU_FUNCTION(cuMemMap),
        CUDA_ON_CPU_FUNCTION(cuMemUnmap),
        CUDA_ON_CPU_FUNCTION(cuMemSetAccess),
        CUDA_ON_CPU_FUNCTION(cuLibraryLoadData),
        CUDA_ON_CPU_FUNCTION(cuLibraryUnload),
        CUDA_ON_CPU_FUNCTION(cuLibraryGetKernel)};
#undef CUDA_ON_CPU_FUNCTION
    if (!symbol || !funcPtr || flags != cudaEnableDefault) return cudaErrorInvalidValue;
    const auto found = functions.find(symbol);
    *funcPtr = found == functions.end() ? nullptr : found->second;
    if (driverStatus)
      *driverStatus = *funcPtr ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    return cudaSuccess;
  });
}

}  // extern "C"
