// SPDX-License-Identifier: Apache-2.0
#include "runtime.hpp"

#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "cuda_on_cpu/control.hpp"
#include "cuda_on_cpu/threads.hpp"

namespace cuda_on_cpu {
namespace {

std::unique_ptr<Runtime>& holder() {
  static auto* const the = new std::unique_ptr<Runtime>;
  return *the;
}

thread_local int device_of_thread = 0;
thread_local cudaError_t last_error = cudaSuccess;
thread_local bool in_host_function = false;

cudaError_t begin(Needs needs) {
  if (in_host_function) return cudaErrorNotPermitted;
  if (needs == Needs::nothing) return cudaSuccess;
  const cudaError_t status = runtime().devices.status();
  if (status != cudaSuccess || needs == Needs::device) return status;
  return runtime().devices.use(device_of_thread);
}

}  // namespace

Runtime::Runtime()
    : settings(read_settings()),
      devices(settings),
      memory(settings.memory_bytes, settings.host_readable),
      virtual_memory(memory),
      queue(settings.order, settings.seed, [this] { memory.close(); }) {
  for (int d = 0; d < devices.count(); ++d) {
    legacy.push_back({d, StreamKind::legacy});
    per_thread.push_back({d, StreamKind::blocking});
  }
}

Runtime::~Runtime() {
  for (const cudaStream_t stream : streams) delete stream;
  for (const cudaEvent_t event : events) delete event;
  for (const cudaGraph_t graph : graphs) delete graph;
  for (const cudaGraphExec_t executable : executables) delete executable;
}

WorkPtr Runtime::issue(Stream& stream, std::function<void()> run) {
  if (!stream.capture) return queue.add(stream, std::move(run));
  add_node(stream, std::move(run));
  return nullptr;
}

cudaError_t Runtime::use(const Stream& stream, Use how) {
  if (stream.kind == StreamKind::legacy) {
    // It would wait for what is only captured.
    const auto is_waited_for = [&](const Stream& other) {
      return other.capture && other.device == stream.device && other.kind == StreamKind::blocking;
    };
    bool any = false;
    const auto look_at = [&](const Stream& other) {
      if (!is_waited_for(other)) return;
      if (how != Use::looks) other.capture->valid = false;
      any = true;
    };
    for (const cudaStream_t other : streams) look_at(*other);
    for (const Stream& other : per_thread) look_at(other);
    if (any) return cudaErrorStreamCaptureImplicit;
  }
  if (!stream.capture || how == Use::looks) return cudaSuccess;
  if (!stream.capture->valid) return cudaErrorStreamCaptureInvalidated;
  if (how == Use::adds) return cudaSuccess;
  stream.capture->valid = false;
  return cudaErrorStreamCaptureUnsupported;
}

cudaError_t Runtime::refuse_in_capture() {
  cudaError_t error = cudaSuccess;
  for (const auto& capture : captures) {
    const bool mine = capture->thread == std::this_thread::get_id();
    if (capture->mode == cudaStreamCaptureModeGlobal ||
        (capture->mode == cudaStreamCaptureModeThreadLocal && mine)) {
      capture->valid = false;
      error = cudaErrorStreamCaptureUnsupported;
    }
  }
  return error;
}

void Runtime::open_for(int device) {
  memory.open(device);
  for (const auto& [from, to] : peers) {
    if (from == device) memory.open(to);
  }
}

void Runtime::close_memory() {
  // Where threads run kernels the host may touch device memory meanwhile in any case, and what must
  // not is found now and then: the rank tests on two ranks take a sixth less time.
  const bool is_now_and_then = settings.order == Order::thread;
  if (!is_now_and_then || ++calls_at_rest % 16 == 0) memory.close();
}

Stream& Runtime::legacy_stream() { return legacy[static_cast<std::size_t>(device_of_thread)]; }

Stream* Runtime::stream(cudaStream_t handle) {
  if (!handle || handle == cudaStreamLegacy) return &legacy_stream();
  if (handle == cudaStreamPerThread) return &per_thread[static_cast<std::size_t>(device_of_thread)];
  return streams.count(handle) ? handle : nullptr;
}

Runtime& runtime() {
  if (!holder()) holder() = std::make_unique<Runtime>();
  return *holder();
}

Call::Call(Needs needs) : lock_(turn()), error_(begin(needs)) {
  if (error_ == cudaSuccess) runtime().queue.drift();
}

Call::~Call() {
  if (!in_host_function && runtime().queue.running() == 0) runtime().close_memory();
}

int current_device() { return device_of_thread; }
void set_current_device(int device) { device_of_thread = device; }

void call_host(cudaHostFn_t function, void* data) {
  const bool alone = runtime().queue.running() <= 1;
  const bool gives_way = runtime().settings.order == Order::thread;
  if (alone) runtime().memory.close();
  in_host_function = true;
  if (gives_way) turn().unlock();  // it may wait for a thread that waits for the turn
  function(data);
  if (gives_way) turn().lock();
  in_host_function = false;
}

void rest(unsigned nanoseconds) {
  const bool gives_way = runtime().settings.order == Order::thread;
  if (gives_way) turn().unlock();
  // The system would make at least 50 µs of any time.
  if (nanoseconds < 50'000) {
    std::this_thread::yield();
  } else {
    std::this_thread::sleep_for(std::chrono::nanoseconds(nanoseconds));
  }
  if (gives_way) turn().lock();
}

cudaError_t remember(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

void restart() {
  const std::lock_guard lock(turn());
  holder().reset();
  device_of_thread = 0;
  last_error = cudaSuccess;
}

}  // namespace cuda_on_cpu

extern "C" {

cudaError_t cudaGetLastError() { return std::exchange(cuda_on_cpu::last_error, cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return cuda_on_cpu::last_error; }

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
#define CUDA_ON_CPU_NAME(name, value, text) \
  case name:                                \
    return #name;
    CUDA_ON_CPU_ERRORS(CUDA_ON_CPU_NAME)
#undef CUDA_ON_CPU_NAME
  }
  return "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
#define CUDA_ON_CPU_TEXT(name, value, text) \
  case name:                                \
    return text;
    CUDA_ON_CPU_ERRORS(CUDA_ON_CPU_TEXT)
#undef CUDA_ON_CPU_TEXT
  }
  return "unrecognized error code";
}

}  // extern "C"
