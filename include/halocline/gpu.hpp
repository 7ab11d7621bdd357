// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which GPU a rank uses.

#include <string>
#include <vector>

#include <halocline/communicator.hpp>

namespace halocline {

/// The GPU of one rank.
struct GpuChoice {
  int ordinal = 0;  ///< as CUDA counts the GPUs that this process sees
  std::string uuid, name;
  int ranks_on_gpu = 1;  ///< this one included
  /// What a user should know: shared and idle GPUs, GPUs far from a rank's cores. The same on
  /// every rank.
  std::vector<std::string> notes;
};

/// Gives every rank one of the GPUs that it sees and makes it the calling thread's current one
/// (cudaSetDevice). No two ranks share a GPU while one that either sees is free; ranks prefer GPUs
/// near their cores. Call it before the first CUDA call, so that no context is made on another
/// GPU. A rank uses one GPU: for several, start several ranks. Collective. Throws, on every rank,
/// unavailable if a rank sees no GPU, device if one cannot be used.
GpuChoice bind_gpu(const Communicator& communicator);

}  // namespace halocline
