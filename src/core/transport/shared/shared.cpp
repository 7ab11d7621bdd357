// SPDX-License-Identifier: Apache-2.0
#include "transport/shared/shared.hpp"

#include <cstring>
#include <utility>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/pages.hpp"
#include "comm/gate.hpp"
#include "comm/swap.hpp"
#include "transport/shared/room.hpp"

namespace halocline::transport {
namespace {

constexpr std::int64_t flag_line_bytes = 64;

std::int64_t whole_lines(std::int64_t bytes) {
  return (bytes + flag_line_bytes - 1) / flag_line_bytes * flag_line_bytes;
}

/// The offsets of one peer's flag and slots in a rank's window.
struct Place {
  std::int64_t flag, even, odd;
};

/// An MPI shared window: all ranks of the node can load from and store to every rank's part.
class NodeWindow {
 public:
  /// The window begins with `flag_bytes` of zeros.
  NodeWindow(const Communicator& communicator, std::int64_t bytes, std::int64_t flag_bytes)
      : communicator_(communicator) {
    comm::State& state = communicator.state();
    require_room_for_window(state, bytes);
    allocate(bytes);
    // The rank that reads a page touches it first, so that it is in that rank's NUMA node.
    for (std::int64_t at = 0; at < bytes; at += page_bytes()) mine_[at] = std::byte{0};
    if (flag_bytes > 0) std::memset(mine_, 0, static_cast<std::size_t>(flag_bytes));
    comm::block(state, "MPI_Win_lock_all",
                [&] { return MPI_Win_lock_all(MPI_MODE_NOCHECK, window_); });
    comm::barrier_on_node(communicator_.state(), "plan, open (shared)");
  }
  // Frees collectively: every rank of a node destroys its plans in the same order. A window that
  // other ranks will not free stays, because MPI_Win_free would wait for them without a limit.
  ~NodeWindow() {
    if (communicator_.state().others_may_be_gone()) return;
    try {
      comm::barrier_on_node(communicator_.state(), "plan, close (shared)");
    } catch (const Error&) {
      return;
    }
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
  }
  NodeWindow(const NodeWindow&) = delete;
  NodeWindow& operator=(const NodeWindow&) = delete;

  std::byte* mine() const { return mine_; }
  std::byte* of(int node_rank) const {
    MPI_Aint bytes = 0;
    int unit = 0;
    std::byte* base = nullptr;
    comm::check(MPI_Win_shared_query(window_, node_rank, &bytes, &unit, static_cast<void*>(&base)),
                "MPI_Win_shared_query");
    return base;
  }

 private:
  void allocate(std::int64_t bytes) {
    comm::State& state = communicator_.state();
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    // Each part on its own pages, near the rank that reads it.
    MPI_Info_set(info, "alloc_shared_noncontig", "true");
    try {
      comm::block(state, "MPI_Win_allocate_shared", [&] {
        return MPI_Win_allocate_shared(static_cast<MPI_Aint>(bytes), 1, info, state.node(),
                                       static_cast<void*>(&mine_), &window_);
      });
    } catch (const Error& error) {
      MPI_Info_free(&info);
      throw Error(ErrorKind::resource,
                  fmt::format("could not allocate {} bytes of memory shared by the node's ranks "
                              "({}); check whether /dev/shm is full, or use transport mpi",
                              bytes, error.what()));
    }
    MPI_Info_free(&info);
  }

  Communicator communicator_;
  std::byte* mine_ = nullptr;
  MPI_Win window_ = MPI_WIN_NULL;
};

class SharedChannel final : public Channel {
 public:
  SharedChannel(const Communicator& communicator, std::vector<Message> messages)
      : communicator_(communicator),
        messages_(std::move(messages)),
        tag_(communicator.state().next_tag()),
        places_(lay_out()),
        window_(communicator, window_bytes_,
                flag_line_bytes * static_cast<std::int64_t>(messages_.size())) {
    for (const Message& message : messages_) sent_bytes_ += bytes_of(message.send);
    connect();
    port_ = {peers_.data(), static_cast<int>(peers_.size()), &epoch_, nullptr};
  }

  Slots send_slots(std::size_t message) override {
    const device::PortPeer& peer = peers_[message];
    return {peer.window[0], peer.window[1]};
  }
  Slots receive_slots(std::size_t message) override {
    const Place& place = places_[message];
    return {window_.mine() + place.even, window_.mine() + place.odd};
  }

  void start(Stream) override {
    const Span span(state().recorder(), Phase::call, "raise flags", sent_bytes_);
    ++epoch_;
    for (const device::PortPeer& peer : peers_) device::raise(peer.raise, epoch_);
  }

  bool progress() override {
    for (const device::PortPeer& peer : peers_)
      if (!device::reached(peer.raised, epoch_)) return false;
    return true;
  }

  void finish(Stream) override {
    comm::wait_until(state(),
                     {.site = "exchange, wait (shared)", .missing = [this] { return missing(); }},
                     [this] { return progress(); });
  }

  std::uint64_t epoch() const override { return epoch_; }
  const device::DevicePort* port() const override { return &port_; }

 private:
  comm::State& state() const { return communicator_.state(); }

  /// Flags first, each in its own cache line, so that peers' stores do not disturb each other.
  std::vector<Place> lay_out() {
    std::vector<Place> places;
    std::int64_t at = flag_line_bytes * static_cast<std::int64_t>(messages_.size());
    for (const Message& message : messages_) {
      const std::int64_t bytes = whole_lines(bytes_of(message.receive));
      places.push_back(
          {flag_line_bytes * static_cast<std::int64_t>(places.size()), at, at + bytes});
      at += 2 * bytes;
    }
    window_bytes_ = at;
    return places;
  }

  /// Exchanges with each peer the offsets to write to.
  void connect() {
    std::vector<int> peers;
    for (const Message& message : messages_) peers.push_back(message.peer);
    const std::vector<Place> theirs =
        comm::swap_with(state(), peers, tag_, places_, "plan, connect");
    for (std::size_t m = 0; m < messages_.size(); ++m) {
      std::byte* base = window_.of(node_rank_of(messages_[m].peer));
      peers_.push_back({{base + theirs[m].even, base + theirs[m].odd},
                        reinterpret_cast<std::uint64_t*>(base + theirs[m].flag),
                        reinterpret_cast<std::uint64_t*>(window_.mine() + places_[m].flag)});
    }
  }

  /// Ranks within the node have the order of ranks, since the node communicator was split with that
  /// key.
  int node_rank_of(int peer) const {
    int before = 0;
    for (int rank = 0; rank < peer; ++rank)
      before += state().node_of(rank) == state().node_of(peer) ? 1 : 0;
    return before;
  }

  std::string missing() const {
    std::string text;
    for (std::size_t m = 0; m < messages_.size(); ++m)
      if (!device::reached(peers_[m].raised, epoch_)) add_peer(text, " and ", messages_[m]);
    return text;
  }

  Communicator communicator_;
  std::vector<Message> messages_;
  // Taken before anything can fail on some ranks only, since all ranks must count tags alike.
  int tag_;
  std::int64_t window_bytes_ = 0;
  std::vector<Place> places_;
  NodeWindow window_;
  std::vector<device::PortPeer> peers_;
  device::DevicePort port_{};
  std::uint64_t epoch_ = 0;
  std::int64_t sent_bytes_ = 0;
};

}  // namespace

std::optional<std::string> SharedTransport::unavailable(Pair pair, Memory fields) const {
  if (fields != Memory::host) return "its windows are host memory, which GPUs cannot read";
  if (pair == Pair::same_node) return std::nullopt;
  return pair == Pair::self ? "it only stores into other ranks' memory"
                            : "the ranks are on different nodes";
}

std::unique_ptr<Channel> SharedTransport::open(const Communicator& communicator,
                                               std::vector<Message> messages, Memory) const {
  return std::make_unique<SharedChannel>(communicator, std::move(messages));
}

}  // namespace halocline::transport
