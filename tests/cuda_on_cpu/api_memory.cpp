// SPDX-License-Identifier: Apache-2.0
// Calls about memory.

#include <unistd.h>

#include <cstring>
#include <memory>
#include <vector>

#include "runtime.hpp"

using cuda_on_cpu::Block;
using cuda_on_cpu::call;
using cuda_on_cpu::call_on;
using cuda_on_cpu::call_outside_capture;
using cuda_on_cpu::Exported;
using cuda_on_cpu::Kind;
using cuda_on_cpu::Needs;
using cuda_on_cpu::Runtime;
using cuda_on_cpu::Stream;
using cuda_on_cpu::Use;

namespace {

using Bytes = std::byte*;

cudaError_t allocate(Runtime& runtime, Kind kind, void** ptr, std::size_t size) {
  if (!ptr) return cudaErrorInvalidValue;
  void* const memory =
      size ? runtime.memory.allocate(kind, cuda_on_cpu::current_device(), size) : nullptr;
  if (size && !memory) return cudaErrorMemoryAllocation;
  *ptr = memory;
  return cudaSuccess;
}

/// Returns this process's block that begins there and has one of these kinds, or null.
Block* whole_block(Runtime& runtime, void* ptr, Kind kind, Kind or_kind) {
  Block* const block = runtime.memory.find(ptr);
  if (!block || block->begin != ptr || block->free_is_queued || block->is_foreign() ||
      block->is_virtual) {
    return nullptr;
  }
  return block->kind == kind || block->kind == or_kind ? block : nullptr;
}

// ---- copies

struct Rows {
  Bytes to;
  std::size_t to_pitch;
  const std::byte* from;
  std::size_t from_pitch;
  std::size_t bytes, count;
};

void copy_now(const Rows& rows) {
  for (std::size_t row = 0; row < rows.count; ++row) {
    std::memmove(rows.to + row * rows.to_pitch, rows.from + row * rows.from_pitch, rows.bytes);
  }
}

/// Where the two ends of a copy are.
enum class Place { pageable, pinned, managed, device };
struct End {
  Place place = Place::pageable;
  bool fits = true;
};

End end_of(Runtime& runtime, const std::byte* begin, std::size_t bytes) {
  const Block* const block = runtime.memory.find(begin);
  if (!block) return {};
  const bool fits = runtime.memory.holds(*block, begin, bytes);
  if (block->kind == Kind::device) return {Place::device, fits};
  return {block->kind == Kind::managed ? Place::managed : Place::pinned, fits};
}

bool allows(cudaMemcpyKind kind, Place to, Place from) {
  const auto host = [](Place place) { return place != Place::device; };
  const auto device = [](Place place) { return place != Place::pageable; };  // can be mapped
  switch (kind) {
    case cudaMemcpyHostToHost:
      return host(to) && host(from);
    case cudaMemcpyHostToDevice:
      return device(to) && host(from);
    case cudaMemcpyDeviceToHost:
      return host(to) && device(from);
    case cudaMemcpyDeviceToDevice:
      return device(to) && device(from);
    case cudaMemcpyDefault:
      return true;
  }
  return false;
}

/// Copies what the source holds now, as through a driver's own buffer.
void add_staged(Runtime& runtime, Stream& stream, const Rows& rows) {
  const auto stage = std::make_shared<std::vector<std::byte>>(rows.bytes * rows.count);
  copy_now({stage->data(), rows.bytes, rows.from, rows.from_pitch, rows.bytes, rows.count});
  runtime.queue.add(stream, [&runtime, stage, rows] {
    runtime.memory.open_all();
    copy_now({rows.to, rows.to_pitch, stage->data(), rows.bytes, rows.bytes, rows.count});
  });
}

enum class Caller { goes_on, waits };

constexpr std::size_t most_pitch = 0x7fffffff;  // as devices.cpp says of memPitch

// What the host waits for is what CUDA's manual promises ("API synchronization behavior"), no more.
cudaError_t copy(cudaStream_t handle, const Rows& rows, cudaMemcpyKind kind, Caller caller) {
  const Use how = caller == Caller::waits ? Use::awaits : Use::adds;
  return call_on(handle, how, [&](Runtime& runtime, Stream& stream) {
    if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) {
      return cudaErrorInvalidMemcpyDirection;
    }
    if (rows.bytes == 0 || rows.count == 0) return cudaSuccess;
    if (rows.bytes > rows.to_pitch || rows.bytes > rows.from_pitch)
      return cudaErrorInvalidPitchValue;
    const bool is_line = rows.count == 1 && std::max(rows.to_pitch, rows.from_pitch) == rows.bytes;
    if (!is_line && std::max(rows.to_pitch, rows.from_pitch) > most_pitch)
      return cudaErrorInvalidPitchValue;
    if (!rows.to || !rows.from) return cudaErrorInvalidValue;
    const End to = end_of(runtime, rows.to, (rows.count - 1) * rows.to_pitch + rows.bytes);
    const End from = end_of(runtime, rows.from, (rows.count - 1) * rows.from_pitch + rows.bytes);
    if (!to.fits || !from.fits || !allows(kind, to.place, from.place)) return cudaErrorInvalidValue;

    const bool to_host = to.place <= Place::pinned, from_host = from.place <= Place::pinned;
    if (from.place == Place::pageable || to.place == Place::pageable) {
      const cudaError_t error = runtime.use(stream, Use::awaits);
      if (error != cudaSuccess) return error;
    }
    if (from.place == Place::pageable && !to_host) {
      if (caller == Caller::waits) runtime.queue.finish(stream);
      add_staged(runtime, stream, rows);
      return cudaSuccess;
    }
    const auto work = runtime.issue(stream, [&runtime, rows] {
      runtime.memory.open_all();
      copy_now(rows);
    });
    const bool on_device = to.place == Place::device && from.place == Place::device;
    if ((to_host && from_host) || to.place == Place::pageable ||
        (caller == Caller::waits && !on_device)) {
      runtime.queue.wait(work);
    }
    return cudaSuccess;
  });
}

Rows one_row(void* dst, const void* src, std::size_t count) {
  return {static_cast<Bytes>(dst), count, static_cast<const std::byte*>(src), count, count, 1};
}

cudaError_t set(cudaStream_t handle, void* ptr, int value, std::size_t count, Caller caller) {
  const Use how = caller == Caller::waits ? Use::awaits : Use::adds;
  return call_on(handle, how, [&](Runtime& runtime, Stream& stream) {
    if (count == 0) return cudaSuccess;
    const End to = end_of(runtime, static_cast<const std::byte*>(ptr), count);
    if (!to.fits || to.place == Place::pageable) return cudaErrorInvalidValue;
    const auto work = runtime.issue(stream, [&runtime, ptr, value, count] {
      runtime.memory.fill(static_cast<std::byte*>(ptr), value, count);
    });
    if (caller == Caller::waits && to.place != Place::device) runtime.queue.wait(work);
    return cudaSuccess;
  });
}

/// What can be advised and moved: managed memory, and pageable where the device reads it.
bool migrates(Runtime& runtime, const void* ptr, std::size_t count) {
  if (!ptr || count == 0) return false;
  const Block* const block = runtime.memory.find(ptr);
  if (!block) return runtime.settings.pageable;
  const auto* begin = static_cast<const std::byte*>(ptr);
  return block->kind == Kind::managed && begin + count <= block->begin + block->bytes;
}

cudaError_t check(const Runtime& runtime, cudaMemLocation location) {
  if (location.type == cudaMemLocationTypeDevice) {
    return runtime.devices.valid(location.id) ? cudaSuccess : cudaErrorInvalidDevice;
  }
  const bool host = location.type == cudaMemLocationTypeHost ||
                    location.type == cudaMemLocationTypeHostNuma ||
                    location.type == cudaMemLocationTypeHostNumaCurrent;
  return host ? cudaSuccess : cudaErrorInvalidValue;
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** ptr, std::size_t size) {
  return call_outside_capture(
      [&](Runtime& runtime) { return allocate(runtime, Kind::device, ptr, size); });
}

cudaError_t cudaMallocHost(void** ptr, std::size_t size) {
  return cudaHostAlloc(ptr, size, cudaHostAllocDefault);
}

cudaError_t cudaHostAlloc(void** ptr, std::size_t size, unsigned flags) {
  return call_outside_capture([&](Runtime& runtime) {
    return flags > 7 ? cudaErrorInvalidValue : allocate(runtime, Kind::pinned, ptr, size);
  });
}

cudaError_t cudaMallocManaged(void** ptr, std::size_t size, unsigned flags) {
  return call_outside_capture([&](Runtime& runtime) {
    if (size == 0 || (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost)) {
      return cudaErrorInvalidValue;
    }
    return allocate(runtime, Kind::managed, ptr, size);
  });
}

cudaError_t cudaMallocAsync(void** ptr, std::size_t size, cudaStream_t handle) {
  return call_on(handle, Use::awaits, [&](Runtime& runtime, Stream& stream) {
    cudaError_t error = allocate(runtime, Kind::device, ptr, size);
    if (error == cudaErrorMemoryAllocation) {
      runtime.queue.drain(stream.device);  // what is freed there can be had
      error = allocate(runtime, Kind::device, ptr, size);
    }
    if (error == cudaSuccess && *ptr) runtime.memory.find(*ptr)->pooled = true;
    return error;
  });
}

// Waits for the device, as CUDA does.
cudaError_t cudaFree(void* ptr) {
  return call_outside_capture([&](Runtime& runtime) {
    if (!ptr) return cudaSuccess;
    Block* const block = whole_block(runtime, ptr, Kind::device, Kind::managed);
    if (!block) return cudaErrorInvalidValue;
    runtime.queue.drain(block->device);
    runtime.memory.release(block->begin);
    return cudaSuccess;
  });
}

cudaError_t cudaFreeAsync(void* ptr, cudaStream_t handle) {
  return call_on(handle, Use::awaits, [&](Runtime& runtime, Stream& stream) {
    if (!ptr) return cudaSuccess;
    Block* const block = whole_block(runtime, ptr, Kind::device, Kind::device);
    if (!block) return cudaErrorInvalidValue;
    block->free_is_queued = true;
    runtime.queue.add(stream, [&runtime, begin = block->begin] { runtime.memory.release(begin); });
    return cudaSuccess;
  });
}

cudaError_t cudaFreeHost(void* ptr) {
  return call_outside_capture([&](Runtime& runtime) {
    if (!ptr) return cudaSuccess;
    Block* const block = whole_block(runtime, ptr, Kind::pinned, Kind::pinned);
    if (!block) return cudaErrorInvalidValue;
    runtime.queue.drain(block->device);
    runtime.memory.release(block->begin);
    return cudaSuccess;
  });
}

cudaError_t cudaHostRegister(void* ptr, std::size_t size, unsigned) {
  return call_outside_capture([&](Runtime& runtime) {
    if (!ptr || size == 0) return cudaErrorInvalidValue;
    const bool added =
        runtime.memory.add(static_cast<Bytes>(ptr), size, cuda_on_cpu::current_device());
    return added ? cudaSuccess : cudaErrorHostMemoryAlreadyRegistered;
  });
}

cudaError_t cudaHostUnregister(void* ptr) {
  return call_outside_capture([&](Runtime& runtime) {
    Block* const block = whole_block(runtime, ptr, Kind::registered, Kind::registered);
    if (!block) return cudaErrorHostMemoryNotRegistered;
    runtime.memory.forget(block->begin);
    return cudaSuccess;
  });
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  return call(Needs::context, [&](Runtime& runtime) {
    if (free) *free = runtime.memory.free_bytes(cuda_on_cpu::current_device());
    if (total) *total = runtime.settings.memory_bytes;
    return cudaSuccess;
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* ptr) {
  return call(Needs::device, [&](Runtime& runtime) {
    if (!attributes) return cudaErrorInvalidValue;
    void* const address = const_cast<void*>(ptr);
    const Block* const block = runtime.memory.find(ptr);
    if (!block) {
      *attributes = {cudaMemoryTypeUnregistered, cudaInvalidDeviceId, nullptr, address};
    } else if (block->kind == Kind::device) {
      *attributes = {cudaMemoryTypeDevice, block->device, address, nullptr};
    } else {
      const auto type = block->kind == Kind::managed ? cudaMemoryTypeManaged : cudaMemoryTypeHost;
      *attributes = {type, block->device, address, address};
    }
    return cudaSuccess;
  });
}

// As in CUDA, any pointer into an allocation means all of it.
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* devPtr) {
  return call_outside_capture([&](Runtime& runtime) {
    if (!runtime.settings.ipc) return cudaErrorNotSupported;
    const Block* const block = runtime.memory.find(devPtr);
    if (!handle || !block || block->kind != Kind::device || block->pooled || block->is_virtual ||
        block->is_foreign()) {
      return cudaErrorInvalidValue;
    }
    const Exported memory = runtime.memory.share(*block, runtime.devices.index(block->device));
    static_assert(sizeof memory <= sizeof *handle);
    *handle = {};
    std::memcpy(handle, &memory, sizeof memory);
    return cudaSuccess;
  });
}

cudaError_t cudaIpcOpenMemHandle(void** devPtr, cudaIpcMemHandle_t handle, unsigned flags) {
  return call_outside_capture([&](Runtime& runtime) {
    if (!runtime.settings.ipc) return cudaErrorNotSupported;
    if (!devPtr || flags != cudaIpcMemLazyEnablePeerAccess) return cudaErrorInvalidValue;
    Exported memory{};
    std::memcpy(&memory, &handle, sizeof memory);
    if (memory.pid == getpid()) return cudaErrorDeviceUninitialized;
    const int device = cuda_on_cpu::current_device();
    if (!runtime.settings.p2p && memory.device != runtime.devices.index(device)) {
      return cudaErrorPeerAccessUnsupported;
    }
    return runtime.memory.open_shared(memory, device, devPtr);
  });
}

// Waits for the device, as cudaFree does.
cudaError_t cudaIpcCloseMemHandle(void* devPtr) {
  return call_outside_capture([&](Runtime& runtime) {
    Block* const block = runtime.memory.find(devPtr);
    if (!block || block->begin != devPtr || !block->is_foreign()) return cudaErrorInvalidValue;
    runtime.queue.drain(block->device);
    runtime.memory.close_shared(block->begin);
    return cudaSuccess;
  });
}

// Nothing moves, so that advice has no effect.
cudaError_t cudaMemAdvise(const void* ptr, std::size_t count, cudaMemoryAdvise advice,
                          cudaMemLocation location) {
  return call(Needs::context, [&](Runtime& runtime) {
    if (!migrates(runtime, ptr, count)) return cudaErrorInvalidValue;
    const bool located = advice != cudaMemAdviseSetReadMostly &&
                         advice != cudaMemAdviseUnsetReadMostly &&
                         advice != cudaMemAdviseUnsetPreferredLocation;
    return located ? check(runtime, location) : cudaSuccess;
  });
}

cudaError_t cudaMemPrefetchAsync(const void* ptr, std::size_t count, cudaMemLocation location,
                                 unsigned flags, cudaStream_t handle) {
  return call_on(handle, Use::adds, [&](Runtime& runtime, Stream& stream) {
    if (flags != 0 || !migrates(runtime, ptr, count)) return cudaErrorInvalidValue;
    const cudaError_t error = check(runtime, location);
    if (error == cudaSuccess) runtime.issue(stream, nullptr);
    return error;
  });
}

cudaError_t cudaMemcpy(void* dst, const void* src, std::size_t count, cudaMemcpyKind kind) {
  return copy(nullptr, one_row(dst, src, count), kind, Caller::waits);
}

cudaError_t cudaMemcpyAsync(void* dst, const void* src, std::size_t count, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return copy(stream, one_row(dst, src, count), kind, Caller::goes_on);
}

cudaError_t cudaMemcpy2D(void* dst, std::size_t dpitch, const void* src, std::size_t spitch,
                         std::size_t width, std::size_t height, cudaMemcpyKind kind) {
  return copy(
      nullptr,
      {static_cast<Bytes>(dst), dpitch, static_cast<const std::byte*>(src), spitch, width, height},
      kind, Caller::waits);
}

cudaError_t cudaMemcpy2DAsync(void* dst, std::size_t dpitch, const void* src, std::size_t spitch,
                              std::size_t width, std::size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream) {
  return copy(
      stream,
      {static_cast<Bytes>(dst), dpitch, static_cast<const std::byte*>(src), spitch, width, height},
      kind, Caller::goes_on);
}

cudaError_t cudaMemset(void* ptr, int value, std::size_t count) {
  return set(nullptr, ptr, value, count, Caller::waits);
}

cudaError_t cudaMemsetAsync(void* ptr, int value, std::size_t count, cudaStream_t stream) {
  return set(stream, ptr, value, count, Caller::goes_on);
}

}  // extern "C"
