// SPDX-License-Identifier: Apache-2.0
#include "transport/nvshmem/put_channel.hpp"

#include <array>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "comm/collectives.hpp"
#include "comm/gate.hpp"
#include "comm/state.hpp"
#include "comm/waiting.hpp"
#include "device/buffer.hpp"
#include "device/gpu.hpp"
#include "device/queue.hpp"
#include "device/stream_clock.hpp"
#include "transport/nvshmem/session.hpp"
#include "transport/peer/channel.hpp"

namespace halocline::transport::nvshmem {
namespace {

/// Puts with signals. A slot is written by the sender's put, which raises the receiver's word
/// `arrived`, once the receiver's word `free` at the sender shows that it has been read. Each rank
/// resets its words itself, so that a graph can be replayed: a peer raises `free` again only after
/// this rank's put has come, and `arrived` only after this rank has raised `free`.
class PutChannel final : public Channel, private comm::InFlight {
 public:
  PutChannel(const Communicator& communicator, std::vector<Message> messages, Memory fields,
             Session& session)
      : communicator_(communicator), messages_(std::move(messages)), session_(session) {
    const auto count = static_cast<std::int64_t>(messages_.size());
    std::vector<ReachedMemory::Offsets> offsets;
    std::int64_t bytes = 2 * count * word_bytes;
    for (std::int64_t m = 0; m < count; ++m) {
      const std::int64_t slot = (bytes + line_bytes - 1) / line_bytes * line_bytes;
      offsets.push_back({m * word_bytes, (count + m) * word_bytes, slot});
      bytes = slot + bytes_of(messages_[static_cast<std::size_t>(m)].receive);
    }
    memory_ = session.allocate(communicator, bytes);
    const std::vector<ReachedMemory::Offsets> theirs =
        swapped(communicator, peers_of(messages_), offsets);
    comm::together(communicator, [&] {
      for (std::size_t m = 0; m < messages_.size(); ++m)
        ends_.push_back({.rank = session.number_of(communicator, messages_[m].peer),
                         .arrived = word(offsets[m][Place::at_arrived]),
                         .free = word(offsets[m][Place::at_free]),
                         .slot = at(offsets[m][Place::at_slot]),
                         .their_arrived = word(theirs[m][Place::at_arrived]),
                         .their_free = word(theirs[m][Place::at_free]),
                         .their_slot = at(theirs[m][Place::at_slot]),
                         .send = device::allocate(fields, bytes_of(messages_[m].send))});
      own_.emplace();
      release_.emplace();
    });
    enter();
  }

  ~PutChannel() override {
    if (has_given_up_) comm::keep_for_mpi(std::move(memory_));  // a thread still writes to it
  }

  Slots send_slots(std::size_t message) override {
    auto* const slot = static_cast<std::byte*>(ends_[message].send.get());
    return {slot, slot};
  }
  Slots receive_slots(std::size_t message) override {
    return {ends_[message].slot, ends_[message].slot};
  }

  void start(Stream stream) override {
    is_started_ = true;
    const comm::Watchdog::Guard guard(communicator_.state().watchdog(), "a put of NVSHMEM");
    const Stream queue = queue_for(stream);
    clock_.time(queue, 0, [&] { put_all(queue.native(), queue); });
    if (!stream.is_host()) return;
    await_all(queue);  // progress() asks for it
    arrived_.record(queue);
  }

  bool progress() override { return arrived_.reached(); }

  void finish(Stream stream) override {
    if (!stream.is_host()) return await_all(stream);
    comm::wait_until(communicator_.state(),
                     {.site = "exchange, wait (nvshmem)",
                      .missing = [] { return std::string("its own GPU to send and receive"); }},
                     [this] { return arrived_.reached(); });
  }

  std::string note() const override { return session_.note(); }

 private:
  enum Place { at_arrived, at_free, at_slot };
  static constexpr std::int64_t word_bytes = sizeof(std::uint64_t), line_bytes = 128;

  /// One message; the addresses of the peer's are those of the same offsets here.
  struct End {
    int rank;  ///< NVSHMEM's number of the peer
    std::uint64_t *arrived, *free;
    std::byte* slot;
    std::uint64_t *their_arrived, *their_free;
    std::byte* their_slot;
    std::shared_ptr<void> send;
  };

  void put_all(void* native, Stream queue) {
    const Library& library = session_.library();
    for (const End& end : ends_) library.signal(end.their_free, 1, set_signal, end.rank, native);
    for (const End& end : ends_) library.wait(end.free, is_at_least, 1, native);
    reset(Place::at_free, queue);
    for (std::size_t m = 0; m < ends_.size(); ++m) {
      const End& end = ends_[m];
      const auto bytes = static_cast<std::size_t>(bytes_of(messages_[m].send));
      if (bytes > 0)
        library.put_and_signal(end.their_slot, end.send.get(), bytes, end.their_arrived, 1,
                               set_signal, end.rank, native);
      else
        library.signal(end.their_arrived, 1, set_signal, end.rank, native);
    }
  }

  void await_all(Stream queue) {
    const comm::Watchdog::Guard guard(communicator_.state().watchdog(), "a wait of NVSHMEM");
    for (const End& end : ends_)
      session_.library().wait(end.arrived, is_at_least, 1, queue.native());
    reset(Place::at_arrived, queue);
  }

  void move_on() override {}

  std::string give_up() override {
    if (!is_started_ || has_given_up_ || messages_.empty()) return {};
    has_given_up_ = true;
    std::thread([ends = ends_, memory = memory_, stream = *release_, gpu = device::current_gpu()] {
      release(ends, stream.get(), gpu);
    }).detach();
    std::string text;
    for (const Message& message : messages_) add_peer(text, " or ", message);
    return fmt::format("NVSHMEM for {}", text);
  }

  /// Ends waits of this rank's streams that no peer will end, also those of graphs, which reset the
  /// words in between.
  static void release(const std::vector<End>& ends, Stream stream, const device::Gpu& gpu) {
    constexpr int times = 20000;
    constexpr std::chrono::microseconds pause(500);
    const std::uint64_t one = 1;
    try {
      device::use(gpu);
      for (int time = 0; time < times && !Session::is_over(); ++time) {
        for (const End& end : ends)
          for (std::uint64_t* const word : {end.arrived, end.free})
            device::copy(word, &one, word_bytes, stream);
        device::synchronize(stream);
        std::this_thread::sleep_for(pause);
      }
    } catch (const Error&) {
      // The program ends, and CUDA with it.
    }
  }

  void reset(Place place, Stream queue) {
    const auto bytes = static_cast<std::int64_t>(ends_.size()) * word_bytes;
    if (bytes > 0)
      device::clear(place == Place::at_arrived ? ends_.front().arrived : ends_.front().free, bytes,
                    queue);
  }

  std::byte* at(std::int64_t offset) const {
    return static_cast<std::byte*>(memory_.get()) + offset;
  }
  std::uint64_t* word(std::int64_t offset) const {
    return reinterpret_cast<std::uint64_t*>(at(offset));
  }
  Stream queue_for(Stream stream) const { return stream.is_host() ? own_->get() : stream; }

  Communicator communicator_;
  std::vector<Message> messages_;
  Session& session_;
  std::shared_ptr<void> memory_;  // in the symmetric heap
  std::vector<End> ends_;
  std::optional<device::OwnedStream> own_, release_;  // for the host's stream; for cancelling
  device::Event arrived_;
  device::StreamClock clock_{comm::recorder(communicator_), Phase::move, "exchange (nvshmem)"};
  bool is_started_ = false, has_given_up_ = false;
};

}  // namespace

std::unique_ptr<Channel> open_put_channel(const Communicator& communicator,
                                          std::vector<Message> messages, Memory fields) {
  return std::make_unique<PutChannel>(communicator, std::move(messages), fields,
                                      Session::of(communicator));
}

}  // namespace halocline::transport::nvshmem
