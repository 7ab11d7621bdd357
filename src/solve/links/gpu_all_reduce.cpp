// SPDX-License-Identifier: Apache-2.0
#include "links/gpu_all_reduce.hpp"

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "device/buffer.hpp"
#include "device/queue.hpp"

namespace halocline::links {
namespace {

constexpr std::int64_t bytes_of_rank = device::words_of_rank * sizeof(device::EdgeWords);

std::vector<int> all_ranks(const Communicator& communicator) {
  if (communicator.node_count() > 1 || communicator.size() > device::most_ranks_to_reduce)
    throw Error(
        ErrorKind::unavailable,
        fmt::format(
            "GPUs can all-reduce for up to {2} ranks on one node, not for {0} ranks on {1} node(s)",
            communicator.size(), communicator.node_count(), device::most_ranks_to_reduce));
  std::vector<int> ranks;
  for (int rank = 0; rank < communicator.size(); ++rank) ranks.push_back(rank);
  return ranks;
}

}  // namespace

GpuAllReduce::GpuAllReduce(const Communicator& communicator)
    : watch_(communicator, "norm {}",
             [](int rank) { return fmt::format("rank {} (its norm)", rank); }),
      window_(communicator, communicator.size() * bytes_of_rank, all_ranks(communicator),
              std::vector<link::Window::Offsets>(static_cast<std::size_t>(communicator.size()))),
      count_(device::allocate(Memory::device, sizeof(device::Epoch))) {
  const std::int64_t ranks = communicator.size(), me = communicator.rank();
  std::vector<void*> to;
  for (std::int64_t rank = 0; rank < ranks; ++rank)
    to.push_back(window_.of(static_cast<std::size_t>(rank)) + me * bytes_of_rank);
  const auto bytes = static_cast<std::int64_t>(to.size() * sizeof(void*));
  to_ = device::allocate(Memory::device, bytes);
  device::copy(to_.get(), to.data(), bytes, Stream::host());
  all_reduce_ = {.ranks = static_cast<int>(ranks),
                 .to = static_cast<device::EdgeWords* const*>(to_.get()),
                 .from = reinterpret_cast<const device::EdgeWords*>(window_.mine()),
                 .count = static_cast<device::Epoch*>(count_.get()),
                 .watch = watch_.on_gpu()};
}

}  // namespace halocline::links
