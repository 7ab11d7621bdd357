// SPDX-License-Identifier: Apache-2.0
#pragma once
// The state behind the runtime's calls, and the frame of each of them.

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "cuda_runtime_api.h"
#include "devices.hpp"
#include "graphs.hpp"
#include "memory.hpp"
#include "queue.hpp"
#include "settings.hpp"
#include "turn.hpp"
#include "virtual_memory.hpp"

struct CUstream_st : cuda_on_cpu::Stream {};
struct CUevent_st {
  int device;
  bool timed;
  cuda_on_cpu::WorkPtr recorded = nullptr;  // null until it is
  // Where it was last recorded in a stream that was captured, and what came before it there.
  std::shared_ptr<cuda_on_cpu::Capture> capture = nullptr;
  std::vector<std::size_t> captured{};
};

namespace cuda_on_cpu {

/// What a call does with a stream.
enum class Use {
  adds,    ///< work that can be captured
  awaits,  ///< or looks whether it is done, or adds what cannot be captured
  looks,   ///< at the capture itself
};

struct Runtime {
  Runtime();
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  Settings settings;
  Devices devices;
  Memory memory;
  VirtualMemory virtual_memory;
  std::set<cudaStream_t> streams;
  std::set<cudaEvent_t> events;
  std::set<cudaGraph_t> graphs;
  std::set<cudaGraphExec_t> executables;
  std::vector<std::shared_ptr<Capture>> captures;  // in progress
  std::vector<Stream> legacy, per_thread;          // by device
  std::uint64_t calls_at_rest = 0;
  std::set<std::pair<int, int>> peers;  // the first may touch memory of the second
  std::map<std::pair<int, const void*>, std::size_t>
      shared_limits;  // of kernels, by device, where set
  Queue queue;        // ends before the rest, which its work may use

  /// Returns the stream of a handle, null if there is none such.
  Stream* stream(cudaStream_t handle);
  Stream& legacy_stream();
  /// Takes device memory from the host where no kernel runs.
  void close_memory();
  /// Queues work, or captures it where the stream's is; then there is none to wait for.
  WorkPtr issue(Stream& stream, std::function<void()> run);
  /// Returns what a capture in progress has against this: it is void afterwards.
  cudaError_t use(const Stream& stream, Use how);
  cudaError_t refuse_in_capture();
  /// Opens the memory that a kernel on this device can touch.
  void open_for(int device);
};

/// The state, made at first use. Kept until the program ends, for the calls of static destructors.
Runtime& runtime();

/// What a call must have before it can work.
enum class Needs { nothing, device, context };

/// Begins a call, which ends with its destruction.
class Call {
 public:
  explicit Call(Needs needs);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  cudaError_t error() const { return error_; }

 private:
  std::lock_guard<Turn> lock_;
  cudaError_t error_;
};

int current_device();
void set_current_device(int device);
/// Runs a host function: device memory is closed, calls of the runtime are refused.
void call_host(cudaHostFn_t function, void* data);
/// Returns the error, having kept it for cudaGetLastError.
cudaError_t remember(cudaError_t error);

/// The frame of a call: work(runtime) returns an error code.
template <class Body>
cudaError_t call(Needs needs, Body&& body) {
  const Call frame(needs);
  return remember(frame.error() != cudaSuccess ? frame.error() : body(runtime()));
}

/// The frame of a call that CUDA holds unsafe while work is captured, since no capture sees it.
template <class Body>
cudaError_t call_outside_capture(Body&& body) {
  return call(Needs::context, [&](Runtime& runtime) {
    const cudaError_t error = runtime.refuse_in_capture();
    return error == cudaSuccess ? body(runtime) : error;
  });
}

/// The frame of a call on a stream: body(runtime, stream) returns an error code.
template <class Body>
cudaError_t call_on(cudaStream_t handle, Use how, Body&& body) {
  return call(Needs::context, [&](Runtime& runtime) {
    Stream* const stream = runtime.stream(handle);
    if (!stream) return cudaErrorInvalidResourceHandle;
    const cudaError_t error = runtime.use(*stream, how);
    return error == cudaSuccess ? body(runtime, *stream) : error;
  });
}

}  // namespace cuda_on_cpu
