// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks for all CUDA calls.

#include <cuda_runtime.h>

#include <cstdint>

#include <halocline/memory.hpp>
#include <halocline/stream.hpp>

namespace halocline::device::cuda {

/// Throws device, naming the call, with CUDA's error.
void check(cudaError_t error, const char* call);

/// Throws resource for a failed allocation of `bytes`. Clears CUDA's error.
[[noreturn]] void refuse_size(Memory memory, std::int64_t bytes);

inline cudaStream_t native(Stream stream) { return static_cast<cudaStream_t>(stream.native()); }

}  // namespace halocline::device::cuda
