#pragma once
// Every CUDA call passes here.

#include <cuda_runtime.h>

#include <halocline/stream.hpp>

namespace halocline::device::cuda {

/// Throws device, naming the call and what CUDA says of it.
void check(cudaError_t error, const char* call);

inline cudaStream_t native(Stream stream) { return static_cast<cudaStream_t>(stream.native()); }

}  // namespace halocline::device::cuda
