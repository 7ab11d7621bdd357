// SPDX-License-Identifier: Apache-2.0
// For builds without CUDA: there are no GPUs, and this is the reason.

#include <halocline/error.hpp>

#include "device/cuda/runtime.hpp"

namespace halocline::device::cuda {
namespace {

constexpr auto why =
    "this Halocline was built without CUDA; build it on a machine with nvcc (scripts/setup --for "
    "cuda installs it)";

[[noreturn]] void refuse() { throw Error(ErrorKind::unavailable, why); }

}  // namespace

bool is_built_in() { return false; }
bool in_use() { return false; }

Gpus find_gpus() { return {.list = {}, .none_because = why, .driver = {}}; }
bool reaches(const Gpu&, const Gpu&) { refuse(); }
void use(const Gpu&) { refuse(); }
int current() { refuse(); }
int compute_capability() { refuse(); }
GpuMemory gpu_memory() { refuse(); }

std::shared_ptr<void> allocate(Memory, std::int64_t) { refuse(); }
std::shared_ptr<void> allocate_from_pool(std::int64_t) { refuse(); }
Memory memory_of(const void*) { return Memory::host; }
int gpu_of(const void*) { return 0; }

std::shared_ptr<void> make_stream(Priority) { refuse(); }
std::shared_ptr<void> make_event() { refuse(); }
std::shared_ptr<void> make_timed_event() { refuse(); }
double seconds_between(void*, void*) { refuse(); }
void record(void*, Stream) { refuse(); }
bool reached(void*) { refuse(); }
void wait(void*) { refuse(); }
void hold(void*, Stream) { refuse(); }
void synchronize(Stream) { refuse(); }
void finish_all() { refuse(); }

bool is_recording(Stream) { return false; }
std::shared_ptr<void> record_graph(Stream, const std::function<void()>&) { refuse(); }
void launch_graph(void*, Stream) { refuse(); }

std::shared_ptr<void> allocate_virtual(std::int64_t) { refuse(); }
MemoryHandle handle_of(const void*) { refuse(); }
std::shared_ptr<void> map(const MemoryHandle&, std::chrono::duration<double>) { refuse(); }

void copy(void*, const void*, std::int64_t, Stream) { refuse(); }
void copy_rows(void*, const void*, const Rows&, Stream) { refuse(); }
void clear(void*, std::int64_t, Stream) { refuse(); }

}  // namespace halocline::device::cuda
