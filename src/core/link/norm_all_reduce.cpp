// SPDX-License-Identifier: Apache-2.0
#include "link/norm_all_reduce.hpp"

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "device/buffer.hpp"
#include "device/queue.hpp"

namespace halocline::link {
namespace {

constexpr std::int64_t number_bytes = 2 * sizeof(double), flag_bytes = sizeof(device::Epoch);

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

// A window has two places for each rank, then a flag for each.
NormAllReduce::NormAllReduce(const Communicator& communicator)
    : watch_(communicator, "norm {}",
             [](int rank) { return fmt::format("rank {} (its norm)", rank); }),
      window_(communicator, communicator.size() * (number_bytes + flag_bytes),
              all_ranks(communicator),
              std::vector<Window::Offsets>(static_cast<std::size_t>(communicator.size()))),
      count_(device::allocate(Memory::device, sizeof(device::Epoch))) {
  const std::int64_t ranks = communicator.size(), me = communicator.rank();
  std::vector<void*> to, raise;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    std::byte* const theirs = window_.of(static_cast<std::size_t>(rank));
    to.push_back(theirs + me * number_bytes);
    raise.push_back(theirs + ranks * number_bytes + me * flag_bytes);
  }
  to_ = list(to);
  raise_ = list(raise);
  all_reduce_ = {
      .ranks = static_cast<int>(ranks),
      .rank = static_cast<int>(me),
      .to = static_cast<double* const*>(to_.get()),
      .raise = static_cast<device::Epoch* const*>(raise_.get()),
      .numbers = reinterpret_cast<const double*>(window_.mine()),
      .raised = reinterpret_cast<const device::Epoch*>(window_.mine() + ranks * number_bytes),
      .count = static_cast<device::Epoch*>(count_.get()),
      .watch = watch_.on_gpu()};
}

std::shared_ptr<void> NormAllReduce::list(const std::vector<void*>& addresses) const {
  const auto bytes = static_cast<std::int64_t>(addresses.size() * sizeof(void*));
  std::shared_ptr<void> memory = device::allocate(Memory::device, bytes);
  device::copy(memory.get(), addresses.data(), bytes, Stream::host());
  return memory;
}

}  // namespace halocline::link
