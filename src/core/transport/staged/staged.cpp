// SPDX-License-Identifier: Apache-2.0
#include "transport/staged/staged.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "comm/gate.hpp"
#include "comm/waiting.hpp"
#include "device/buffer.hpp"
#include "device/gpu.hpp"
#include "device/queue.hpp"
#include "transport/wait_for_gpu.hpp"

namespace halocline::transport {
namespace {

// Up to this size slots are pinned memory, which the packing kernel writes across the bus: one
// launch, and no copy. Above it, and for data that needs no packing, copy engines move pieces while
// MPI moves others.
constexpr std::int64_t most_bytes_direct = std::int64_t{256} << 10;
// The piece size of a pipeline: MPI needs some 100 KiB to reach its bandwidth, and the first and
// the last piece are not overlapped.
constexpr std::int64_t pipeline_bytes = std::int64_t{1} << 20;

/// Part of a message, moved by one MPI request and one copy between host and GPU.
struct Chunk {
  std::size_t message;
  std::byte* host;
  std::byte* gpu;  // null if packing writes, or unpacking reads, host memory
  std::byte* gpu_at_first;
  std::int64_t bytes;
  std::unique_ptr<device::Event> staged;  // of a piece to send: reached when it is in host memory
  enum class State { idle, moving, done } state = State::idle;
};

class StagedChannel final : public Channel, private comm::InFlight {
 public:
  StagedChannel(const Communicator& communicator, std::vector<Message> messages, Memory fields)
      : communicator_(communicator), messages_(std::move(messages)), fields_(fields) {
    const int tag = state().next_tag();
    for (std::size_t m = 0; m < messages_.size(); ++m) {
      const int peer = messages_[m].peer;
      receive_slots_.push_back(add_pieces(receives_, m, messages_[m].receive));
      for (std::size_t p = receive_requests_.size(); p < receives_.size(); ++p)
        create(receive_requests_, receives_[p], peer, tag, MPI_Recv_init);
      send_slots_.push_back(add_pieces(sends_, m, messages_[m].send));
      for (std::size_t p = send_requests_.size(); p < sends_.size(); ++p)
        create(send_requests_, sends_[p], peer, tag, MPI_Send_init);
    }
  }

  ~StagedChannel() override {
    if (in_flight_) abandon();
    if (comm::mpi_phase() != comm::MpiPhase::running) return;  // nor are there requests any more
    for (auto* requests : {&receive_requests_, &send_requests_})
      for (MPI_Request& request : *requests) MPI_Request_free(&request);
  }

  Slots send_slots(std::size_t message) override {
    return {send_slots_[message], send_slots_[message]};
  }
  Slots receive_slots(std::size_t message) override {
    return {receive_slots_[message], receive_slots_[message]};
  }

  void shift(std::span<const std::int64_t> of_arrays) override {
    for (Chunk& piece : sends_)
      if (piece.gpu != nullptr)
        piece.gpu = piece.gpu_at_first + shift_of(messages_[piece.message].send, of_arrays);
    for (Chunk& piece : receives_)
      if (piece.gpu != nullptr)
        piece.gpu = piece.gpu_at_first + shift_of(messages_[piece.message].receive, of_arrays);
  }

  void start(Stream stream) override {
    in_flight_ = true;
    enter();
    receives_posted_ = false;
    packed_.record(stream);
    if (to_host_ != nullptr) packed_.hold(to_host_->get());
    if (to_gpu_ != nullptr) packed_.hold(to_gpu_->get());
    for (Chunk& piece : sends_) {
      piece.state = Chunk::State::idle;
      if (piece.gpu == nullptr) continue;
      device::copy(piece.host, piece.gpu, piece.bytes, to_host_->get());
      piece.staged->record(to_host_->get());
    }
    for (Chunk& piece : receives_) piece.state = Chunk::State::idle;
    progress();
  }

  bool progress() override {
    if (!in_flight_) return true;
    // The data received by the previous exchange has been read once this exchange is packed.
    if (!receives_posted_ && packed_.reached()) post_receives();
    if (!receives_posted_) return false;
    const bool sent = move_sends(), received = move_receives();
    return sent && received;
  }

  void finish(Stream stream) override {
    wait_for_gpu(state(), packed_);
    comm::wait_until(state(),
                     {.site = "exchange, wait (staged)", .missing = [this] { return missing(); }},
                     [this] { return progress(); });
    in_flight_ = false;
    leave();
    if (to_gpu_ == nullptr) return;
    on_gpu_.record(to_gpu_->get());
    on_gpu_.hold(stream);
  }

 private:
  comm::State& state() const { return communicator_.state(); }

  void move_on() override { progress(); }

  std::byte* allocate(Memory memory, std::int64_t bytes) {
    memory_.push_back(device::allocate(memory, bytes));
    return static_cast<std::byte*>(memory_.back().get());
  }

  /// Allocates the memory of a message and cuts it into pieces; returns its slot.
  std::byte* add_pieces(std::vector<Chunk>& pieces, std::size_t message,
                        const std::vector<Part>& parts) {
    const std::int64_t bytes = bytes_of(parts);
    std::byte* const host = allocate(Memory::pinned, bytes);
    // A piece of a field that needs no packing is copied from its place in the field.
    auto* gpu = static_cast<std::byte*>(in_place(parts));
    const bool direct = gpu == nullptr && bytes <= most_bytes_direct;
    // Of the fields' kind, so that whatever can access the fields can pack.
    if (gpu == nullptr && !direct) gpu = allocate(fields_, bytes);
    if (!direct && to_host_ == nullptr) {
      to_host_ = std::make_unique<device::OwnedStream>(device::Priority::high);
      to_gpu_ = std::make_unique<device::OwnedStream>(device::Priority::high);
    }
    const std::int64_t most = std::min(state().settings().piece_bytes, pipeline_bytes);
    std::int64_t at = 0;
    do {
      pieces.push_back({.message = message,
                        .host = host + at,
                        .gpu = direct ? nullptr : gpu + at,
                        .gpu_at_first = direct ? nullptr : gpu + at,
                        .bytes = std::min(most, bytes - at),
                        .staged = std::make_unique<device::Event>()});
      at += most;
    } while (at < bytes);
    return direct ? host : gpu;
  }

  /// MPI keeps the order of equal tags between two ranks: pieces need no separate tags.
  template <class Init>
  void create(std::vector<MPI_Request>& requests, const Chunk& piece, int peer, int tag,
              Init init) {
    requests.push_back(MPI_REQUEST_NULL);
    comm::check(init(piece.host, static_cast<int>(piece.bytes), MPI_BYTE, peer, tag, state().all(),
                     &requests.back()),
                "MPI_Send_init or MPI_Recv_init");
  }

  void begin(std::vector<MPI_Request>& requests, std::vector<Chunk>& pieces, std::size_t p) {
    pieces[p].state = Chunk::State::moving;
    comm::post(state(), "MPI_Start", pieces[p].bytes, [&] { return MPI_Start(&requests[p]); });
  }

  bool arrived(MPI_Request& request) const {
    int done = 0;
    comm::post(state(), "MPI_Test", 0,
               [&] { return MPI_Test(&request, &done, MPI_STATUS_IGNORE); });
    return done != 0;
  }

  void post_receives() {
    receives_posted_ = true;
    for (std::size_t p = 0; p < receives_.size(); ++p) begin(receive_requests_, receives_, p);
  }

  /// Sends the pieces that have reached host memory, in order; returns true when all are sent.
  bool move_sends() {
    bool all = true, in_order = true;
    for (std::size_t p = 0; p < sends_.size(); ++p) {
      Chunk& piece = sends_[p];
      if (piece.state == Chunk::State::idle) {
        // A message's pieces must start in order, since MPI matches them by order alone.
        in_order &= piece.gpu == nullptr || piece.staged->reached();
        if (in_order) begin(send_requests_, sends_, p);
      }
      if (piece.state == Chunk::State::moving && arrived(send_requests_[p]))
        piece.state = Chunk::State::done;
      all &= piece.state == Chunk::State::done;
    }
    return all;
  }

  /// Passes pieces that have arrived to the GPU; returns true when all have.
  bool move_receives() {
    bool all = true;
    for (std::size_t p = 0; p < receives_.size(); ++p) {
      Chunk& piece = receives_[p];
      if (piece.state == Chunk::State::moving && arrived(receive_requests_[p])) {
        piece.state = Chunk::State::done;
        if (piece.gpu != nullptr) device::copy(piece.gpu, piece.host, piece.bytes, to_gpu_->get());
      }
      all &= piece.state == Chunk::State::done;
    }
    return all;
  }

  std::string missing() const {
    std::string text;
    for (const auto* pieces : {&receives_, &sends_}) {
      for (std::size_t p = 0; p < pieces->size(); ++p) {
        const Chunk& piece = (*pieces)[p];
        const bool named = p > 0 && (*pieces)[p - 1].message == piece.message &&
                           (*pieces)[p - 1].state != Chunk::State::done;
        if (piece.state == Chunk::State::done || named) continue;
        add_peer(text, " and ", messages_[piece.message]);
      }
      if (!text.empty()) return text + (pieces == &sends_ ? " to take its message" : "");
    }
    return "the other ranks";
  }

  /// Cancels the receives of messages that have not arrived; memory that MPI or the GPU may still
  /// access stays to the end of the program.
  void abandon() {
    if (comm::mpi_phase() == comm::MpiPhase::running)
      for (std::size_t p = 0; p < receives_.size(); ++p)
        if (receives_[p].state == Chunk::State::moving) MPI_Cancel(&receive_requests_[p]);
    comm::keep_for_mpi(std::make_shared<decltype(memory_)>(std::move(memory_)));
  }

  Communicator communicator_;
  std::vector<Message> messages_;
  Memory fields_;
  std::vector<std::shared_ptr<void>> memory_;
  std::vector<std::byte*> send_slots_, receive_slots_;
  std::vector<Chunk> sends_, receives_;
  std::vector<MPI_Request> send_requests_, receive_requests_;
  // If there are copies: both directions at the same time, concurrent with sweeps.
  std::unique_ptr<device::OwnedStream> to_host_, to_gpu_;
  device::Event packed_, on_gpu_;
  bool in_flight_ = false, receives_posted_ = false;
};

}  // namespace

std::optional<std::string> StagedTransport::missing_here() const {
  return device::no_gpu_because();
}

std::optional<std::string> StagedTransport::unavailable(Pair pair, Memory fields) const {
  if (pair == Pair::self) return "copies inside a rank need no MPI; use self";
  if (fields == Memory::device || fields == Memory::managed) return std::nullopt;
  return "it copies GPU memory to the host, and the fields are already in host memory";
}

std::unique_ptr<Channel> StagedTransport::open(const Communicator& communicator,
                                               std::vector<Message> messages, Memory fields) const {
  return std::make_unique<StagedChannel>(communicator, std::move(messages), fields);
}

}  // namespace halocline::transport
