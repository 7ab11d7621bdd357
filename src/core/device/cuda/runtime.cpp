// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/runtime.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

#include <fmt/format.h>

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#endif

#include <halocline/error.hpp>

#include "base/process/environment.hpp"
#include "base/recorder.hpp"
#include "device/cuda/check.hpp"
#include "device/cuda/driver.hpp"

namespace halocline::device::cuda {
namespace {

constexpr unsigned no_flags = 0;

std::atomic<bool> used{false};

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string driver_version() {
  int version = 0;
  return cudaDriverGetVersion(&version) == cudaSuccess && version > 0 ? version_text(version)
                                                                      : std::string();
}

/// Returns why the driver shows no GPU. CUDA reports "driver too old" also if there is no driver.
std::string reason_for(cudaError_t error) {
  const std::string driver = driver_version();
  if (driver.empty())
    return "there is no NVIDIA driver here (libcuda.so.1 cannot be loaded); install one, or make "
           "the host's visible in this container";
  if (error == cudaErrorInsufficientDriver)
    return fmt::format(
        "the NVIDIA driver supports CUDA {}, but this Halocline was built with CUDA {}; update the "
        "driver, or build with a toolkit that is not newer",
        driver, version_text(CUDART_VERSION));
  if (error == cudaErrorNoDevice || error == cudaSuccess) {
    const auto visible = environment("CUDA_VISIBLE_DEVICES");
    return visible
               ? fmt::format(
                     "CUDA_VISIBLE_DEVICES is '{}', which hides all GPUs; unset it, or list GPUs "
                     "in it",
                     *visible)
               : std::string(
                     "the NVIDIA driver finds no GPU; check nvidia-smi -L, and make the GPUs "
                     "visible in a container");
  }
  return reason_of_failure(
      fmt::format("{}: {}", cudaGetErrorName(error), cudaGetErrorString(error)),
      environment("CUDA_VISIBLE_DEVICES"));
}

std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

int attribute(cudaDeviceAttr name, int ordinal) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, name, ordinal), "cudaDeviceGetAttribute");
  return value;
}

ComputeMode mode_of(int value) {
  if (value == cudaComputeModeProhibited) return ComputeMode::prohibited;
  return value == cudaComputeModeDefault ? ComputeMode::shared : ComputeMode::exclusive;
}

Gpu facts_of(int ordinal) {
  cudaDeviceProp facts{};
  check(cudaGetDeviceProperties(&facts, ordinal), "cudaGetDeviceProperties");
  std::array<char, 32> pci{};
  check(cudaDeviceGetPCIBusId(pci.data(), static_cast<int>(pci.size()), ordinal),
        "cudaDeviceGetPCIBusId");
  for (char& letter : pci)
    if (letter >= 'A' && letter <= 'F') letter = static_cast<char>(letter - 'A' + 'a');
  return {.ordinal = ordinal,
          .uuid = uuid_text(facts.uuid),
          .name = facts.name,
          .pci = pci.data(),
          .memory_bytes = static_cast<std::int64_t>(facts.totalGlobalMem),
          .multiprocessors = facts.multiProcessorCount,
          .major = facts.major,
          .minor = facts.minor,
          .mode = mode_of(attribute(cudaDevAttrComputeMode, ordinal)),
          .no_system_memory = attribute(cudaDevAttrPageableMemoryAccess, ordinal) != 0
                                  ? ""
                                  : "the driver gives it no access to ordinary host memory "
                                    "(pageableMemoryAccess is 0: no HMM, no NVLink-C2C)"};
}

void* allocate_pinned(std::size_t size) {
  void* memory = nullptr;
  return cudaHostAlloc(&memory, size, cudaHostAllocPortable) == cudaSuccess ? memory : nullptr;
}

void* allocate_device(std::size_t size) {
  void* memory = nullptr;
  return cudaMalloc(&memory, size) == cudaSuccess ? memory : nullptr;
}

cudaError_t prefer_gpu(void* memory, std::size_t size, int ordinal) {
#if CUDART_VERSION >= 13000
  const cudaMemLocation place{cudaMemLocationTypeDevice, ordinal};
  if (const cudaError_t error =
          cudaMemAdvise(memory, size, cudaMemAdviseSetPreferredLocation, place);
      error != cudaSuccess)
    return error;
  return cudaMemPrefetchAsync(memory, size, place, no_flags, cudaStreamPerThread);
#else
  if (const cudaError_t error =
          cudaMemAdvise(memory, size, cudaMemAdviseSetPreferredLocation, ordinal);
      error != cudaSuccess)
    return error;
  return cudaMemPrefetchAsync(memory, size, ordinal, cudaStreamPerThread);
#endif
}

/// Managed memory that stays on the GPU until the host touches it.
void* allocate_managed(std::size_t size) {
  // With more than the free memory the driver moves pages back and forth, which has hung whole
  // GPUs.
  if (static_cast<std::int64_t>(size) > gpu_memory().free_bytes) return nullptr;
  const int ordinal = current();
  void* memory = nullptr;
  if (cudaMallocManaged(&memory, size) != cudaSuccess) return nullptr;
  // Without concurrent access (Windows, old GPUs) CUDA rejects advice and does not need it.
  if (attribute(cudaDevAttrConcurrentManagedAccess, ordinal) != 0)
    check(prefer_gpu(memory, size, ordinal), "cudaMemPrefetchAsync");
  return memory;
}

std::shared_ptr<void> make_event_with(unsigned flags) {
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, flags), "cudaEventCreateWithFlags");
  return {event, [](void* handle) { cudaEventDestroy(static_cast<cudaEvent_t>(handle)); }};
}

#if __has_include(<nvtx3/nvToolsExt.h>)
/// Spans show in Nsight; without a profiler these calls do nothing.
void mark_spans() {
  span_marks = {.begin = [](const char* site) { nvtxRangePushA(site); },
                .end = [] { nvtxRangePop(); }};
}
#else
void mark_spans() {}
#endif

}  // namespace

void check(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // clears a recoverable error, which would be reported twice
  throw Error(ErrorKind::device, fmt::format("{} failed with {}: {}", call, cudaGetErrorName(error),
                                             cudaGetErrorString(error)));
}

void require(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  decltype(&cuGetErrorName) name_of = nullptr;
  find_in_driver(name_of, "cuGetErrorName");
  const char* name = nullptr;
  name_of(result, &name);
  throw Error(ErrorKind::device,
              fmt::format("{} failed with {}", call, name != nullptr ? name : "an unknown error"));
}

void refuse_size(Memory memory, std::int64_t bytes) {
  cudaGetLastError();  // clears the error, which the next call would return
  std::string there;
  if (memory != Memory::pinned) {
    const GpuMemory gpu = gpu_memory();
    there = fmt::format("; the GPU has {:.2f} GB free of {:.2f}",
                        static_cast<double>(gpu.free_bytes) / 1e9,
                        static_cast<double>(gpu.total_bytes) / 1e9);
  }
  throw Error(
      ErrorKind::resource,
      fmt::format("could not allocate {:.2f} GB of {} memory{}; use fewer cells per rank or "
                  "more GPUs",
                  static_cast<double>(bytes) / 1e9, name_of(memory), there));
}

bool is_built_in() { return true; }
bool in_use() { return used; }

Gpus find_gpus() {
  Gpus gpus;
  gpus.driver = driver_version();
  gpus.runtime = version_text(CUDART_VERSION);
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess || count == 0) {
    cudaGetLastError();
    gpus.none_because = reason_for(error);
    return gpus;
  }
  for (int ordinal = 0; ordinal < count; ++ordinal) gpus.list.push_back(facts_of(ordinal));
  return gpus;
}

bool reaches(const Gpu& from, const Gpu& to) {
  int can = 0;
  check(cudaDeviceCanAccessPeer(&can, from.ordinal, to.ordinal), "cudaDeviceCanAccessPeer");
  return can != 0;
}

void use(const Gpu& gpu) {
  const std::string what = fmt::format("GPU {} ({}, {})", gpu.ordinal, gpu.name, gpu.uuid);
  if (gpu.mode == ComputeMode::prohibited)
    throw Error(ErrorKind::unavailable,
                fmt::format("{} is in compute mode 'prohibited'; the administrator can change it "
                            "with nvidia-smi -c 0, or run on the host (option 'backend' "
                            "set to 'cpu')",
                            what));
  cudaError_t error = cudaSetDevice(gpu.ordinal);
  if (error == cudaSuccess) error = cudaFree(nullptr);  // makes the context
  const bool is_first = !used;                          // other threads may follow
  if (is_first) used = true;
  if (error == cudaSuccess && is_first) mark_spans();
  if (error == cudaSuccess) return;
  cudaGetLastError();
  if (error == cudaErrorMemoryAllocation)
    throw Error(
        ErrorKind::resource,
        fmt::format(
            "{} has no memory left for a context; check with nvidia-smi which processes use it",
            what));
  if (gpu.mode == ComputeMode::exclusive && error == cudaErrorDevicesUnavailable)
    throw Error(ErrorKind::unavailable,
                fmt::format("{} is in compute mode 'exclusive' and another process uses it; use "
                            "one rank per GPU, or wait for that process",
                            what));
  throw Error(ErrorKind::device, fmt::format("{} cannot be used: {}: {}", what,
                                             cudaGetErrorName(error), cudaGetErrorString(error)));
}

int current() {
  int ordinal = 0;
  check(cudaGetDevice(&ordinal), "cudaGetDevice");
  return ordinal;
}

int compute_capability() {
  int major = 0, minor = 0;
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, current()),
        "cudaDeviceGetAttribute");
  check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, current()),
        "cudaDeviceGetAttribute");
  return 10 * major + minor;
}

GpuMemory gpu_memory() {
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return {static_cast<std::int64_t>(free), static_cast<std::int64_t>(total)};
}

std::shared_ptr<void> allocate(Memory memory, std::int64_t bytes) {
  used = true;
  const auto size = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
  void* address = memory == Memory::pinned    ? allocate_pinned(size)
                  : memory == Memory::managed ? allocate_managed(size)
                                              : allocate_device(size);
  if (address == nullptr) refuse_size(memory, bytes);
  std::shared_ptr<void> owned(address, [memory](void* bytes_to_free) {
    if (memory == Memory::pinned)
      cudaFreeHost(bytes_to_free);
    else
      cudaFree(bytes_to_free);
  });
  if (memory == Memory::pinned)
    std::memset(address, 0, size);
  else
    clear(address, bytes, Stream::host());
  return owned;
}

std::shared_ptr<void> allocate_from_pool(std::int64_t bytes) {
  used = true;
  if (attribute(cudaDevAttrMemoryPoolsSupported, current()) == 0)
    throw Error(ErrorKind::unavailable, "this GPU or its driver does not support memory pools");
  void* address = nullptr;
  if (cudaMallocAsync(&address, static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1)),
                      cudaStreamPerThread) != cudaSuccess)
    refuse_size(Memory::device, bytes);
  std::shared_ptr<void> owned(address, [](void* bytes_to_free) {
    // As cudaFree does: waits for all streams that may use it.
    cudaDeviceSynchronize();
    cudaFreeAsync(bytes_to_free, cudaStreamPerThread);
  });
  clear(address, bytes, Stream::host());
  return owned;
}

Memory memory_of(const void* pointer) {
  cudaPointerAttributes facts{};
  if (cudaPointerGetAttributes(&facts, pointer) != cudaSuccess) {
    cudaGetLastError();
    return Memory::host;
  }
  switch (facts.type) {
    case cudaMemoryTypeDevice:
      return Memory::device;
    case cudaMemoryTypeManaged:
      return Memory::managed;
    case cudaMemoryTypeHost:
      return Memory::pinned;
    default:
      return Memory::host;
  }
}

int gpu_of(const void* pointer) {
  cudaPointerAttributes facts{};
  check(cudaPointerGetAttributes(&facts, pointer), "cudaPointerGetAttributes");
  return facts.device;
}

std::shared_ptr<void> make_stream(Priority priority) {
  int lowest = 0, highest = 0;
  check(cudaDeviceGetStreamPriorityRange(&lowest, &highest), "cudaDeviceGetStreamPriorityRange");
  cudaStream_t stream = nullptr;
  // Non-blocking: our work does not wait for the program's work on the default stream.
  check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking,
                                     priority == Priority::high ? highest : lowest),
        "cudaStreamCreateWithPriority");
  return {stream, [](void* handle) { cudaStreamDestroy(static_cast<cudaStream_t>(handle)); }};
}

std::shared_ptr<void> make_event() { return make_event_with(cudaEventDisableTiming); }
std::shared_ptr<void> make_timed_event() { return make_event_with(cudaEventDefault); }

double seconds_between(void* begun, void* ended) {
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, static_cast<cudaEvent_t>(begun),
                             static_cast<cudaEvent_t>(ended)),
        "cudaEventElapsedTime");
  return static_cast<double>(milliseconds) * 1e-3;
}

void record(void* event, Stream stream) {
  check(cudaEventRecord(static_cast<cudaEvent_t>(event), native(stream)), "cudaEventRecord");
}

bool reached(void* event) {
  const cudaError_t error = cudaEventQuery(static_cast<cudaEvent_t>(event));
  if (error == cudaErrorNotReady) return false;
  check(error, "the work before an event");
  return true;
}

void wait(void* event) {
  check(cudaEventSynchronize(static_cast<cudaEvent_t>(event)), "the work before an event");
}

void hold(void* event, Stream stream) {
  check(cudaStreamWaitEvent(native(stream), static_cast<cudaEvent_t>(event), no_flags),
        "cudaStreamWaitEvent");
}

void synchronize(Stream stream) {
  check(cudaStreamSynchronize(native(stream)), "the work of a stream");
}

void finish_all() { check(cudaDeviceSynchronize(), "the work of a GPU"); }

bool is_recording(Stream stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(native(stream), &status), "cudaStreamIsCapturing");
  return status != cudaStreamCaptureStatusNone;
}

std::shared_ptr<void> record_graph(Stream stream, const std::function<void()>& work) {
  cudaGraph_t graph = nullptr;
  check(cudaStreamBeginCapture(native(stream), cudaStreamCaptureModeThreadLocal),
        "cudaStreamBeginCapture");
  try {
    work();
  } catch (...) {
    cudaStreamEndCapture(native(stream), &graph);
    if (graph != nullptr) cudaGraphDestroy(graph);
    cudaGetLastError();
    throw;
  }
  check(cudaStreamEndCapture(native(stream), &graph), "cudaStreamEndCapture");
  const std::shared_ptr<void> owned(
      graph, [](void* handle) { cudaGraphDestroy(static_cast<cudaGraph_t>(handle)); });
  cudaGraphExec_t executable = nullptr;
  check(cudaGraphInstantiate(&executable, graph, no_flags), "cudaGraphInstantiate");
  std::shared_ptr<void> result(
      executable, [](void* handle) { cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(handle)); });
  check(cudaGraphUpload(executable, native(stream)), "cudaGraphUpload");
  return result;
}

void launch_graph(void* graph, Stream stream) {
  check(cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph), native(stream)), "cudaGraphLaunch");
}

void copy(void* to, const void* from, std::int64_t bytes, Stream stream) {
  const Stream queue = stream.is_host() ? Stream::cuda(cudaStreamPerThread) : stream;
  check(
      cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault, native(queue)),
      "cudaMemcpyAsync");
  if (stream.is_host()) synchronize(queue);
}

void copy_rows(void* to, const void* from, const Rows& rows, Stream stream) {
  // CUDA rejects rows further apart (cudaDeviceProp::memPitch, on every GPU).
  constexpr std::int64_t furthest = std::numeric_limits<std::int32_t>::max();
  if (std::max(rows.to_stride, rows.from_stride) > furthest) {
    for (std::int64_t row = 0; row < rows.count; ++row)
      copy(static_cast<std::byte*>(to) + row * rows.to_stride,
           static_cast<const std::byte*>(from) + row * rows.from_stride, rows.bytes, stream);
    return;
  }
  const Stream queue = stream.is_host() ? Stream::cuda(cudaStreamPerThread) : stream;
  check(cudaMemcpy2DAsync(to, static_cast<std::size_t>(rows.to_stride), from,
                          static_cast<std::size_t>(rows.from_stride),
                          static_cast<std::size_t>(rows.bytes),
                          static_cast<std::size_t>(rows.count), cudaMemcpyDefault, native(queue)),
        "cudaMemcpy2DAsync");
  if (stream.is_host()) synchronize(queue);
}

void clear(void* memory, std::int64_t bytes, Stream stream) {
  const Stream queue = stream.is_host() ? Stream::cuda(cudaStreamPerThread) : stream;
  check(cudaMemsetAsync(memory, 0, static_cast<std::size_t>(bytes), native(queue)),
        "cudaMemsetAsync");
  if (stream.is_host()) synchronize(queue);
}

}  // namespace halocline::device::cuda
