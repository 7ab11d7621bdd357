// SPDX-License-Identifier: Apache-2.0
#pragma once
// Binding ranks to GPUs.

#include <string>
#include <vector>

#include <halocline/communicator.hpp>

namespace halocline {

/// The GPU of one rank.
struct GpuChoice {
  int ordinal = 0;  ///< CUDA's number among the GPUs visible to this process
  std::string uuid, name;
  int ranks_on_gpu = 1;  ///< including this one
  /// Hints for the user: shared and idle GPUs, GPUs far from a rank's cores. The same on every
  /// rank.
  std::vector<std::string> notes;
};

/// Assigns each rank one of the GPUs visible to it and makes that GPU current for the calling
/// thread (cudaSetDevice). Two ranks share a GPU only if no other GPU visible to either is free;
/// ranks prefer GPUs near their cores. Call it before the first CUDA call, so that CUDA creates no
/// context on another GPU. A rank uses one GPU; to use several, start several ranks. Collective.
/// Throws, on every rank, unavailable if a rank sees no GPU, device if a GPU cannot be used.
GpuChoice bind_gpu(const Communicator& communicator);

}  // namespace halocline
