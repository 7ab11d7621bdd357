// SPDX-License-Identifier: Apache-2.0
#pragma once
// The CUDA calls of device/: implemented in runtime.cpp, and in absent.cpp for builds without CUDA.
// Streams and events are the driver's handles.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include <halocline/memory.hpp>

#include "device/gpu.hpp"
#include "device/queue.hpp"
#include "device/sharing.hpp"

namespace halocline::device::cuda {

/// Whether this build has CUDA.
bool is_built_in();
/// Whether this process has used a GPU through us; if not, no memory is a GPU's.
bool in_use();

Gpus find_gpus();
bool reaches(const Gpu& from, const Gpu& to);
void use(const Gpu& gpu);
/// Returns the ordinal of the current GPU.
int current();
/// Returns 90 for compute capability 9.0, of the current GPU.
int compute_capability();
GpuMemory gpu_memory();

/// Allocates pinned, device or managed memory, zeroed.
std::shared_ptr<void> allocate(Memory memory, std::int64_t bytes);
/// Allocates zeroed device memory from a pool. Throws unavailable if there are no pools.
std::shared_ptr<void> allocate_from_pool(std::int64_t bytes);
Memory memory_of(const void* pointer);
/// Returns the number of the GPU whose memory it is.
int gpu_of(const void* pointer);

std::shared_ptr<void> make_stream(Priority priority);
std::shared_ptr<void> make_event();
/// Makes an event for seconds_between().
std::shared_ptr<void> make_timed_event();
/// Both must have been reached.
double seconds_between(void* begun, void* ended);
void record(void* event, Stream stream);
bool reached(void* event);
void wait(void* event);
void hold(void* event, Stream stream);
void synchronize(Stream stream);
/// Waits for all streams of the current GPU.
void finish_all();

/// See device/graph.hpp.
bool is_recording(Stream stream);
std::shared_ptr<void> record_graph(Stream stream, const std::function<void()>& work);
void launch_graph(void* graph, Stream stream);

/// See device/sharing.hpp; implemented in sharing.cpp.
std::shared_ptr<void> allocate_virtual(std::int64_t bytes);
MemoryHandle handle_of(const void* memory);
std::shared_ptr<void> map(const MemoryHandle& handle, std::chrono::duration<double> limit);

/// On the host stream: done on return.
void copy(void* to, const void* from, std::int64_t bytes, Stream stream);
void copy_rows(void* to, const void* from, const Rows& rows, Stream stream);
void clear(void* memory, std::int64_t bytes, Stream stream);

}  // namespace halocline::device::cuda
