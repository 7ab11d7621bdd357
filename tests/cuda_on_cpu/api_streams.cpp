// SPDX-License-Identifier: Apache-2.0
// Calls about streams, events and kernels.

#include <algorithm>
#include <chrono>
#include <utility>

#include "blocks.hpp"
#include "cuda_on_cpu/threads.hpp"
#include "runtime.hpp"

using cuda_on_cpu::call;
using cuda_on_cpu::call_on;
using cuda_on_cpu::Needs;
using cuda_on_cpu::Runtime;
using cuda_on_cpu::Stream;
using cuda_on_cpu::StreamKind;
using cuda_on_cpu::Use;
using cuda_on_cpu::WorkPtr;

namespace {

/// The frame of a call on an event: body(runtime, event) returns an error code.
template <class Body>
cudaError_t call_on(cudaEvent_t event, Body&& body) {
  return call(Needs::context, [&](Runtime& runtime) {
    return runtime.events.count(event) ? body(runtime, *event) : cudaErrorInvalidResourceHandle;
  });
}

/// Waiting for what was captured would never end.
cudaError_t refuse_captured(const CUevent_st& event) {
  if (!event.capture) return cudaSuccess;
  event.capture->valid = false;
  return cudaErrorCapturedEvent;
}

bool can_be_launched(const cudaLaunchConfig_t& config) {
  const dim3 grid = config.gridDim, block = config.blockDim;
  const auto within = [](unsigned size, unsigned most) { return size >= 1 && size <= most; };
  return within(grid.x, 0x7fffffff) && within(grid.y, 65535) && within(grid.z, 65535) &&
         within(block.x, 1024) && within(block.y, 1024) && within(block.z, 64) &&
         block.x * block.y * block.z <= 1024;
}

int blocks_per_multiprocessor(const cudaDeviceProp& device, int threads, std::size_t shared_bytes) {
  if (threads > device.maxThreadsPerBlock || shared_bytes > device.sharedMemPerBlockOptin) return 0;
  const int by_threads = device.maxThreadsPerMultiProcessor / threads;
  // Each block takes 1 KiB more than it asked for.
  const auto by_memory =
      static_cast<int>(device.sharedMemPerMultiprocessor / (shared_bytes + 1024));
  return std::min({by_threads, by_memory, device.maxBlocksPerMultiProcessor});
}

/// Returns the shared memory that a launch of this kernel may ask for on the current device.
std::size_t shared_limit(const Runtime& runtime, const void* kernel) {
  const int device = cuda_on_cpu::current_device();
  const auto set = runtime.shared_limits.find({device, kernel});
  return set == runtime.shared_limits.end() ? runtime.devices.properties(device).sharedMemPerBlock
                                            : set->second;
}

bool can_be_resident(const cudaLaunchConfig_t& config, const cudaDeviceProp& device) {
  const dim3 grid = config.gridDim, block = config.blockDim;
  const int threads = static_cast<int>(block.x * block.y * block.z);
  const std::int64_t room = std::int64_t{device.multiProcessorCount} *
                            blocks_per_multiprocessor(device, threads, config.dynamicSmemBytes);
  return std::int64_t{grid.x} * grid.y * grid.z <= room;
}

}  // namespace

cudaError_t cuda_on_cpu::launch(const cudaLaunchConfig_t& config, const void* kernel_function,
                                std::function<void()> body) {
  return call_on(config.stream, Use::adds, [&](Runtime& runtime, Stream& stream) {
    if (!can_be_launched(config)) return cudaErrorInvalidConfiguration;
    const cudaDeviceProp device = runtime.devices.properties(stream.device);
    const bool has_room = config.dynamicSmemBytes <= shared_limit(runtime, kernel_function);
    bool is_cooperative = false;
    for (unsigned i = 0; i < config.numAttrs; ++i) {
      if (config.attrs[i].id == cudaLaunchAttributeCooperative)
        is_cooperative = config.attrs[i].val.cooperative != 0;
      else if (config.attrs[i].id != cudaLaunchAttributeProgrammaticStreamSerialization)
        return cudaErrorNotSupported;
    }
    if (is_cooperative && !(has_room && can_be_resident(config, device)))
      return cudaErrorCooperativeLaunchTooLarge;
    if (!has_room) return cudaErrorInvalidValue;
    if (stream.device != current_device()) return cudaErrorInvalidResourceHandle;
    const Kernel kernel{config.gridDim,          config.blockDim, std::move(body), {},
                        config.dynamicSmemBytes, is_cooperative};
    const WorkPtr work = runtime.issue(stream, [&runtime, device = stream.device, kernel] {
      runtime.open_for(device);
      Kernel now = kernel;
      if (runtime.settings.order == Order::random) now.shuffle_seed = runtime.queue.draw();
      run(now);
    });
    if (runtime.settings.launch_blocking) runtime.queue.wait(work);
    return cudaSuccess;
  });
}

extern "C" {

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithPriority(stream, cudaStreamDefault, 0);
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}

// Priorities are hints; no order of work may depend on them.
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
  return call(Needs::context, [&](Runtime& runtime) {
    if (!stream || flags > cudaStreamNonBlocking) return cudaErrorInvalidValue;
    const auto kind =
        flags == cudaStreamNonBlocking ? StreamKind::non_blocking : StreamKind::blocking;
    *stream = new CUstream_st{{cuda_on_cpu::current_device(), kind}};
    runtime.streams.insert(*stream);
    return cudaSuccess;
  });
}

// What is queued on it is still done.
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return call(Needs::context, [&](Runtime& runtime) {
    if (!runtime.streams.count(stream)) return cudaErrorInvalidResourceHandle;
    const cudaError_t error = runtime.use(*stream, Use::awaits);
    if (error != cudaSuccess) return error;
    runtime.streams.erase(stream);
    delete stream;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  return call_on(handle, Use::awaits, [](Runtime& runtime, Stream& stream) {
    runtime.queue.finish(stream);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  return call_on(handle, Use::awaits, [](Runtime& runtime, Stream& stream) {
    return runtime.queue.nudge(stream) ? cudaSuccess : cudaErrorNotReady;
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned flags) {
  return call_on(handle, Use::adds, [&](Runtime& runtime, Stream& stream) {
    if (!runtime.events.count(event)) return cudaErrorInvalidResourceHandle;
    if (flags != cudaEventWaitDefault) return cudaErrorInvalidValue;
    if (!event->capture) {
      if (!event->recorded) return cudaSuccess;
      if (!stream.capture) {
        runtime.queue.add(stream, nullptr, {event->recorded});
        return cudaSuccess;
      }
      stream.capture->valid = false;
      return cudaErrorStreamCaptureIsolation;
    }
    if (event->capture->ended) return refuse_captured(*event);
    if (!event->capture->valid) return cudaErrorStreamCaptureInvalidated;
    if (stream.capture && stream.capture != event->capture) {
      stream.capture->valid = event->capture->valid = false;
      return cudaErrorStreamCaptureMerge;
    }
    if (stream.kind == StreamKind::legacy) {
      event->capture->valid = false;
      return cudaErrorStreamCaptureImplicit;
    }
    join(stream, event->capture, event->captured);
    return cudaSuccess;
  });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t fn, void* userData) {
  return call_on(handle, Use::adds, [&](Runtime& runtime, Stream& stream) {
    if (!fn) return cudaErrorInvalidValue;
    runtime.issue(stream, [fn, userData] { cuda_on_cpu::call_host(fn, userData); });
    return cudaSuccess;
  });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return call(Needs::context, [&](Runtime& runtime) {
    if (!event || flags > 7) return cudaErrorInvalidValue;
    *event = new CUevent_st{cuda_on_cpu::current_device(), !(flags & cudaEventDisableTiming)};
    runtime.events.insert(*event);
    return cudaSuccess;
  });
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return call(Needs::context, [&](Runtime& runtime) {
    if (!runtime.events.erase(event)) return cudaErrorInvalidResourceHandle;
    delete event;
    return cudaSuccess;
  });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t handle) {
  return call_on(handle, Use::adds, [&](Runtime& runtime, Stream& stream) {
    if (!runtime.events.count(event)) return cudaErrorInvalidResourceHandle;
    if (event->device != stream.device) return cudaErrorInvalidResourceHandle;
    event->capture = stream.capture;
    event->captured = stream.ends;
    event->recorded = stream.capture ? nullptr : runtime.queue.add(stream, nullptr);
    return cudaSuccess;
  });
}

cudaError_t cudaEventQuery(cudaEvent_t handle) {
  return call_on(handle, [](Runtime& runtime, const CUevent_st& event) {
    if (event.capture) return refuse_captured(event);
    const cudaError_t error = runtime.refuse_in_capture();
    if (error != cudaSuccess) return error;
    return runtime.queue.nudge(event.recorded) ? cudaSuccess : cudaErrorNotReady;
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  return call_on(handle, [](Runtime& runtime, const CUevent_st& event) {
    if (event.capture) return refuse_captured(event);
    const cudaError_t error = runtime.refuse_in_capture();
    if (error == cudaSuccess) runtime.queue.wait(event.recorded);
    return error;
  });
}

cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t end) {
  return call_on(start, [&](Runtime& runtime, const CUevent_st& first) {
    if (!ms) return cudaErrorInvalidValue;
    if (!runtime.events.count(end)) return cudaErrorInvalidResourceHandle;
    if (first.capture || end->capture) return cudaErrorCapturedEvent;
    if (!first.timed || !end->timed || !first.recorded || !end->recorded) {
      return cudaErrorInvalidResourceHandle;
    }
    if (!first.recorded->done || !end->recorded->done) return cudaErrorNotReady;
    *ms =
        std::chrono::duration<float, std::milli>(end->recorded->end - first.recorded->end).count();
    return cudaSuccess;
  });
}

cudaError_t cudaFuncSetAttribute(const void* func, cudaFuncAttribute attr, int value) {
  return call(Needs::context, [&](Runtime& runtime) {
    if (!func) return cudaErrorInvalidDeviceFunction;
    const int device = cuda_on_cpu::current_device();
    const std::size_t most = runtime.devices.properties(device).sharedMemPerBlockOptin;
    if (attr != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaErrorNotSupported;
    if (value < 0 || static_cast<std::size_t>(value) > most) return cudaErrorInvalidValue;
    runtime.shared_limits[{device, func}] = static_cast<std::size_t>(value);
    return cudaSuccess;
  });
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attr, const void* func) {
  return call(Needs::context, [&](Runtime&) {
    if (!func) return cudaErrorInvalidDeviceFunction;
    if (!attr) return cudaErrorInvalidValue;
    *attr = {};
    attr->maxThreadsPerBlock = 1024;
    attr->numRegs = 32;
    attr->ptxVersion = attr->binaryVersion = 90;
    return cudaSuccess;
  });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* numBlocks, const void* func,
                                                          int blockSize, std::size_t shared) {
  return call(Needs::context, [&](Runtime& runtime) {
    if (!func) return cudaErrorInvalidDeviceFunction;
    if (!numBlocks || blockSize < 1) return cudaErrorInvalidValue;
    const auto device = runtime.devices.properties(cuda_on_cpu::current_device());
    *numBlocks = shared <= shared_limit(runtime, func)
                     ? blocks_per_multiprocessor(device, blockSize, shared)
                     : 0;
    return cudaSuccess;
  });
}

}  // extern "C"
