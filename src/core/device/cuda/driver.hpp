// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions of the driver, which are looked up at run time, like the driver itself.

#include <cuda.h>
#include <cuda_runtime.h>

#include <fmt/format.h>

#include <halocline/error.hpp>

namespace halocline::device::cuda {

/// Looks up a function as it was in CUDA 12.0. Throws device if the driver does not have it.
template <class Function>
void find_in_driver(Function& function, const char* name) {
  constexpr unsigned version = 12000;
  void* address = nullptr;
  cudaDriverEntryPointQueryResult found{};
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion(name, &address, version, cudaEnableDefault, &found);
  if (error != cudaSuccess || found != cudaDriverEntryPointSuccess) {
    cudaGetLastError();
    throw Error(ErrorKind::device, fmt::format("the driver has no {}", name));
  }
  function = reinterpret_cast<Function>(address);
}

/// Throws device, naming the call, with the driver's error.
void require(CUresult result, const char* call);

}  // namespace halocline::device::cuda
