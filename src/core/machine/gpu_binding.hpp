// SPDX-License-Identifier: Apache-2.0
#pragma once
// The binding of ranks to GPUs.

#include <string>
#include <vector>

#include <halocline/communicator.hpp>

#include "device/gpu.hpp"
#include "machine/gpu_facts.hpp"

namespace halocline::machine {

struct Binding {
  int ordinal = 0;  ///< as this rank counts GPUs
  std::string uuid;
  int ranks_on_gpu = 1;            ///< this rank included
  std::vector<std::string> notes;  ///< notes whose lowest rank this is
};

/// Binds every rank to a GPU that it sees; `all` and the result are in order of rank. Identifies
/// GPUs by UUID alone, since a launcher may show each rank one GPU and call it 0. Loads are as even
/// as visibility allows: no two ranks share a GPU while one that either of them sees is free. Among
/// those matchings it takes the one with most ranks near their cores, and among these the one that
/// keeps neighbours in rank order together: rank i of R takes the i-th GPU, or GPU i*n/R if there
/// are only n < R. Throws unavailable if a rank sees no GPU.
std::vector<Binding> bind_ranks(const std::vector<RankFacts>& all);

struct GpuBinding {
  /// The binding of one rank.
  struct Row {
    int rank = 0;
    int node = 0;
    std::string host;
    std::string uuid;
    std::string name;
    std::string pci;
    int ordinal = 0;    ///< as that rank counts GPUs
    std::string cores;  ///< those that it may run on: "0-15,32"
    int ranks_on_gpu = 1;
  };
  device::Gpu gpu;  ///< this rank's; the current one of the calling thread
  int ranks_on_gpu = 1;
  std::vector<std::string> notes;  ///< the same on every rank
  std::vector<Row> map;            ///< the same on every rank, in order of rank
};

/// Gathers the facts of all ranks, binds, and starts using this rank's GPU. Does not change the
/// process's cores. Throws the same on every rank: unavailable if a rank sees no GPU, device if one
/// cannot be used. Collective.
GpuBinding bind_gpu(const Communicator& communicator);

}  // namespace halocline::machine
