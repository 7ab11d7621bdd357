#include "transport/peer/window.hpp"

#include <optional>
#include <string>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "comm/collectives.hpp"
#include "comm/gate.hpp"
#include "comm/swap.hpp"
#include "device/buffer.hpp"
#include "device/queue.hpp"
#include "device/sharing.hpp"

namespace halocline::transport {
namespace {

/// What the user can do about GPUs or processes that cannot share memory: nothing here.
[[noreturn]] void refuse(const std::string& who, const Error& error) {
  throw Error(ErrorKind::unavailable,
              fmt::format("{} ({}); use transport staged, or auto", who, error.what()));
}

/// What one rank tells another.
struct Offer {
  device::MemoryHandle handle;
  PeerWindow::Places places;
};

}  // namespace

PeerWindow::PeerWindow(const Communicator& communicator, std::int64_t bytes,
                       const std::vector<int>& peers, const std::vector<Places>& places)
    : PeerWindow(
          communicator, [bytes] { return device::allocate(Memory::device, bytes); }, peers,
          places) {}

PeerWindow::PeerWindow(const Communicator& communicator, void* memory,
                       const std::vector<int>& peers, const std::vector<Places>& places)
    : PeerWindow(
          communicator, [memory] { return std::shared_ptr<void>(memory, [](void*) {}); }, peers,
          places) {}

PeerWindow::PeerWindow(const Communicator& communicator, const MakeMemory& make,
                       const std::vector<int>& peers, const std::vector<Places>& places)
    : communicator_(communicator) {
  comm::State& state = communicator_.state();
  // Taken before anything can fail on some ranks only: all ranks count tags alike.
  const int tag = state.next_tag();
  device::MemoryHandle handle{};
  comm::together(communicator_, [&] {
    mine_ = make();
    if (!peers.empty()) handle = handle_of_mine();
  });
  std::vector<Offer> offers;
  for (const Places& place : places) offers.push_back({handle, place});
  offers = comm::swap_with(state, peers, tag, offers, "plan, connect (peer)");
  try {
    comm::together(communicator_, [&] {
      for (std::size_t p = 0; p < peers.size(); ++p) {
        theirs_.push_back(map(peers, p, offers[p].handle));
        places_.push_back(offers[p].places);
      }
    });
  } catch (const Error&) {
    keep();  // others may have mapped this rank's
    throw;
  }
}

device::MemoryHandle PeerWindow::handle_of_mine() const {
  try {
    return device::handle_of(mine_.get());
  } catch (const Error& error) {
    refuse(
        fmt::format("rank {} cannot share its GPU's memory with other ranks", communicator_.rank()),
        error);
  }
}

std::shared_ptr<void> PeerWindow::map(const std::vector<int>& peers, std::size_t p,
                                      const device::MemoryHandle& handle) const {
  // A process cannot map its own memory again, nor another's twice, and need not.
  if (peers[p] == communicator_.rank()) return mine_;
  for (std::size_t before = 0; before < p; ++before)
    if (peers[before] == peers[p]) return theirs_[before];
  try {
    return device::map(handle);
  } catch (const Error& error) {
    refuse(fmt::format("the GPU of rank {} cannot reach the memory of rank {}'s",
                       communicator_.rank(), peers[p]),
           error);
  }
}

void PeerWindow::keep() {
  for (auto& memory : theirs_) comm::keep_for_mpi(std::move(memory));
  comm::keep_for_mpi(std::move(mine_));
}

PeerWindow::~PeerWindow() {
  if (communicator_.state().others_may_be_gone()) {
    keep();
    return;
  }
  try {
    device::finish_all();
    meet("plan, close (peer)");
    theirs_.clear();
    meet("plan, close (peer)");
  } catch (const Error&) {
    keep();
  }
}

/// Waits for the other ranks of the node, within the wait limit.
void PeerWindow::meet(const char* site) const {
  comm::State& state = communicator_.state();
  MPI_Request request = MPI_REQUEST_NULL;
  comm::check(MPI_Ibarrier(state.node(), &request), "MPI_Ibarrier");
  comm::wait_all(state, {&request, 1}, {.site = site, .phase = Phase::other, .missing = {}});
}

}  // namespace halocline::transport
