// SPDX-License-Identifier: Apache-2.0
#pragma once
// The small program that shows whether a transport works with a GPU's memory. It may crash or
// hang, which is why it runs in a job of its own: see probe_job.hpp.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "proof/records.hpp"
#include "transport/transport.hpp"

namespace halocline::proof {

/// Which GPUs the ranks of a node take: one each in turn, or all of them the first.
enum class GpuChoice { in_turn, first };

/// From what every MPI sends eagerly to what goes by rendezvous and through pipelines.
std::vector<std::int64_t> sizes_to_probe();

/// Which pairs of the ring are tried.
enum class Pairs { all, of_a_node };

struct ProbeOptions {
  const transport::Transport& transport;
  std::vector<Memory> memories;
  std::vector<std::int64_t> bytes = sizes_to_probe();
  GpuChoice gpus = GpuChoice::in_turn;
  Pairs pairs = Pairs::all;
  /// Gets each line on rank 0, before what it announces is done: print and flush it.
  std::function<void(const std::string&)> say;
};

/// Starts using this rank's GPU and returns its UUID. Throws unavailable without one, and what
/// device::use() throws. Not collective.
std::string take_gpu(const Communicator& communicator, GpuChoice choice);

/// Kinds of pairs that each rank and the next in the ring are, as far as they are tried, on rank 0;
/// `gpu` is this rank's UUID or empty. Collective.
std::vector<GpuPair> pairs_in_ring(const Communicator& communicator, const std::string& gpu,
                                   Pairs tried = Pairs::all);

/// The ranks before and after this one in the ring of all, as far as they are tried; one of them if
/// they are the same.
std::vector<int> neighbours_in_ring(const Communicator& communicator, Pairs tried = Pairs::all);

enum class ProbeEnd { all_proved, something_wrong, unavailable };

/// Sends patterns between each rank and the next in a ring, in both directions at once, for every
/// kind of memory and, until one does not arrive, every size, and checks every byte. Takes a GPU
/// first if the memory is a GPU's. Collective; at least 2 ranks. Throws, after saying so,
/// communication if MPI fails: then the other ranks may not come any more.
ProbeEnd probe(const Communicator& communicator, const ProbeOptions& options);

}  // namespace halocline::proof
