// SPDX-License-Identifier: Apache-2.0
#include "link/window.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "comm/collectives.hpp"
#include "comm/gate.hpp"
#include "comm/swap.hpp"
#include "device/buffer.hpp"
#include "device/queue.hpp"
#include "device/sharing.hpp"

namespace halocline::link {
namespace {

// The error of a kernel's or another rank's wait must arrive before this rank's own limit ends.
constexpr double open_share_of_limit = 0.9;

[[noreturn]] void refuse_window(const std::string& who, const Error& error) {
  throw Error(ErrorKind::unavailable, fmt::format("{} ({})", who, error.what()));
}

/// GPUs or processes that cannot share memory: other transports are the only fix.
[[noreturn]] void give_up(const std::string& why) {
  throw Error(ErrorKind::unavailable, why + "; use transport staged, or auto");
}

/// Whether any rank shares memory by handles.
bool handles_are_in_use(const Communicator& communicator) {
  return comm::max_over_ranks(communicator,
                              std::int64_t{device::descriptors_because().empty() ? 1 : 0}) != 0;
}

/// One rank's message to another.
struct Offer {
  device::MemoryHandle handle;
  Window::Offsets offsets;
};

}  // namespace

Window::Window(const Communicator& communicator, std::int64_t bytes, const std::vector<int>& peers,
               const std::vector<Offsets>& offsets)
    : communicator_(communicator) {
  const auto make = [bytes] { return device::allocate_to_share(Memory::device, bytes); };
  std::string first;
  try {
    open(make, peers, offsets);
    return;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unavailable) throw;
    first = error.what();
  }
  if (!handles_are_in_use(communicator_)) give_up(first);
  const bool used_handles = device::descriptors_because().empty();
  device::share_by_descriptors(first);
  try {
    open(make, peers, offsets);
  } catch (const Error& error) {
    if (used_handles) device::share_by_handles();
    if (error.kind() == ErrorKind::communication) throw;
    give_up(fmt::format("{}; by file descriptors: {}", first, error.what()));
  }
}

Window::Window(const Communicator& communicator, std::shared_ptr<void> memory,
               const std::vector<int>& peers, const std::vector<Offsets>& offsets)
    : communicator_(communicator) {
  try {
    open([&] { return std::move(memory); }, peers, offsets);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unavailable) throw;
    give_up(error.what());
  }
}

/// Throws on every rank or on none; after an error nothing stays mapped.
void Window::open(const MakeMemory& make, const std::vector<int>& peers,
                  const std::vector<Offsets>& offsets) {
  comm::State& state = communicator_.state();
  // Taken before anything can fail on some ranks only, since all ranks must count tags alike.
  const int tag = state.next_tag();
  device::MemoryHandle handle{};
  try {
    comm::together(communicator_, [&] {
      mine_ = make();
      if (!peers.empty()) handle = handle_of_mine();
    });
    std::vector<Offer> offers;
    for (const Offsets& place : offsets) offers.push_back({handle, place});
    offers = comm::swap_with(state, peers, tag, offers, "plan, connect (peer)");
    comm::together(communicator_, [&] {
      for (std::size_t p = 0; p < peers.size(); ++p) {
        theirs_.push_back(map(peers, p, offers[p].handle));
        offsets_.push_back(offers[p].offsets);
      }
    });
  } catch (const Error&) {
    close();
    throw;
  }
}

device::MemoryHandle Window::handle_of_mine() const {
  try {
    return device::handle_of(mine_.get());
  } catch (const Error& error) {
    refuse_window(
        fmt::format("rank {} cannot share its GPU's memory with other ranks", communicator_.rank()),
        error);
  }
}

std::shared_ptr<void> Window::map(const std::vector<int>& peers, std::size_t p,
                                  const device::MemoryHandle& handle) const {
  // A process cannot map its own memory again, nor another's memory twice, and need not.
  if (peers[p] == communicator_.rank()) return mine_;
  for (std::size_t before = 0; before < p; ++before)
    if (peers[before] == peers[p]) return theirs_[before];
  try {
    return device::map(handle, communicator_.options().wait_limit * open_share_of_limit);
  } catch (const Error& error) {
    refuse_window(fmt::format("the GPU of rank {} cannot access the memory of rank {}'s GPU",
                              communicator_.rank(), peers[p]),
                  error);
  }
}

/// Memory to which other ranks, or kernels that cannot be ended, may still store is kept.
/// Memory that is mapped here must not stay if its owner may free it: new memory at its address
/// could not be mapped then (cudaErrorAlreadyMapped).
void Window::keep() {
  try {
    if (!communicator_.state().has_given_up()) {
      device::finish_all();
      theirs_.clear();
    }
  } catch (const Error&) {
    // A kernel has failed: nothing more runs on this GPU.
  }
  for (auto& memory : theirs_) comm::keep_for_mpi(std::move(memory));
  comm::keep_for_mpi(std::move(mine_));
  theirs_.clear();
}

void Window::close() {
  if (communicator_.state().others_may_be_gone()) return keep();
  try {
    device::finish_all();
    comm::barrier_on_node(communicator_.state(), "plan, close (peer)");
    theirs_.clear();
    offsets_.clear();
    comm::barrier_on_node(communicator_.state(), "plan, close (peer)");
    mine_.reset();
  } catch (const Error&) {
    keep();
  }
}

Window::~Window() { close(); }

void agree_on_sharing(const Communicator& communicator) {
  std::vector<int> on_node;
  for (int rank = 0; rank < communicator.size(); ++rank)
    if (communicator.node_of(rank) == communicator.node_of(communicator.rank()))
      on_node.push_back(rank);
  const std::size_t count = on_node.size();
  const auto me = static_cast<std::size_t>(
      std::find(on_node.begin(), on_node.end(), communicator.rank()) - on_node.begin());
  std::vector<int> neighbours;
  if (count > 1) neighbours.push_back(on_node[(me + 1) % count]);
  if (count > 2) neighbours.push_back(on_node[(me + count - 1) % count]);
  try {
    const Window trial(communicator, std::int64_t{1}, neighbours,
                       std::vector<Window::Offsets>(neighbours.size()));
  } catch (const Error& error) {
    // Code that has to share memory will report it.
    if (error.kind() != ErrorKind::unavailable) throw;
  }
}

std::string note_on_sharing() {
  const std::string& because = device::descriptors_because();
  return because.empty()
             ? ""
             : "the GPUs' memory is shared by file descriptors, not by CUDA's handles: " + because;
}

}  // namespace halocline::link
