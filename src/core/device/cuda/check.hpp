// SPDX-License-Identifier: Apache-2.0
#pragma once
// Every CUDA call passes here.

#include <cuda_runtime.h>

#include <cstdint>

#include <halocline/memory.hpp>
#include <halocline/stream.hpp>

namespace halocline::device::cuda {

/// Throws device, naming the call and what CUDA says of it.
void check(cudaError_t error, const char* call);

/// Throws resource: so much memory could not be had. Takes CUDA's error away.
[[noreturn]] void refuse_size(Memory memory, std::int64_t bytes);

inline cudaStream_t native(Stream stream) { return static_cast<cudaStream_t>(stream.native()); }

}  // namespace halocline::device::cuda
