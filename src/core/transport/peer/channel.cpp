// SPDX-License-Identifier: Apache-2.0
#include "transport/peer/channel.hpp"

#include <utility>

#include <fmt/format.h>

#include "comm/state.hpp"
#include "comm/swap.hpp"
#include "device/buffer.hpp"
#include "device/queue.hpp"
#include "link/kernel_watch.hpp"
#include "transport/peer/cuda/signals.hpp"

namespace halocline::transport {
namespace {

using cuda::FlagRow;
using link::KernelWatch;

// Different GPUs store to the flags of different messages, so these are in separate cache lines.
constexpr std::int64_t gpu_line_bytes = 128;

std::int64_t round_up(std::int64_t bytes) {
  return (bytes + gpu_line_bytes - 1) / gpu_line_bytes * gpu_line_bytes;
}

/// The offsets of one peer's flags and slots in a rank's window.
struct Layout {
  enum { flags, even, odd };
  std::vector<ReachedMemory::Offsets> offsets;
  std::int64_t bytes = 0;

  explicit Layout(const std::vector<Message>& messages) {
    const auto take = [this](std::int64_t wanted) {
      const std::int64_t at = bytes;
      bytes += round_up(wanted);
      return at;
    };
    for (const Message& message : messages) {
      const std::int64_t received = bytes_of(message.receive);
      const std::int64_t flag_bytes =
          device::chunks_of(received) * std::int64_t{sizeof(std::uint64_t)};
      offsets.push_back({take(flag_bytes), take(received), take(received)});
    }
  }
};

class KernelChannel final : public Channel {
 public:
  KernelChannel(const Communicator& communicator, std::vector<Message> messages,
                const WayToMemory& way, std::string note)
      : messages_(std::move(messages)),
        note_(std::move(note)),
        layout_(messages_),
        watch_(communicator, fmt::format("exchange {{}} by {}", way.transport),
               [this](int message) { return text_of(message); }),
        memory_(way.open(layout_.bytes, peers_of(messages_), layout_.offsets)) {
    cuda::load_signals();
    std::vector<FlagRow> raised, awaited;
    for (std::size_t m = 0; m < messages_.size(); ++m) {
      const ReachedMemory::Offsets& theirs = memory_.offsets[m];
      std::byte* const base = memory_.theirs[m];
      peers_.push_back({{base + theirs[Layout::even], base + theirs[Layout::odd]},
                        reinterpret_cast<std::uint64_t*>(base + theirs[Layout::flags]),
                        reinterpret_cast<std::uint64_t*>(mine(m, Layout::flags))});
      raised.push_back({peers_[m].raise, device::chunks_of(bytes_of(messages_[m].send))});
      awaited.push_back({peers_[m].raised, device::chunks_of(bytes_of(messages_[m].receive))});
    }
    raised_ = on_gpu(raised);
    awaited_ = on_gpu(awaited);
    port_ = {peers_.data(), static_cast<int>(peers_.size()), nullptr, watch_.on_gpu()};
  }

  Slots send_slots(std::size_t message) override {
    return {peers_[message].window[0], peers_[message].window[1]};
  }
  Slots receive_slots(std::size_t message) override {
    return {mine(message, Layout::even), mine(message, Layout::odd)};
  }

  void start(Stream stream) override {
    watch_.check();
    ++epoch_;
    cuda::raise_all(static_cast<const FlagRow*>(raised_.get()), rows(), epoch_, queue_for(stream));
    if (stream.is_host()) device::synchronize(own_.get());
  }

  bool progress() override {
    watch_.check();
    return true;
  }

  /// Not for exchanges, whose kernel waits for each chunk itself (pack/cuda/copies.cu).
  void finish(Stream stream) override {
    watch_.check();
    cuda::await_all(static_cast<const FlagRow*>(awaited_.get()), rows(), epoch_, watch_.on_gpu(),
                    queue_for(stream));
    if (!stream.is_host()) return;
    device::synchronize(own_.get());
    watch_.check();
  }

  std::uint64_t epoch() const override { return epoch_; }
  const device::DevicePort* port() const override { return &port_; }
  bool kernels_signal() const override { return true; }
  bool takes_in_place() const override { return false; }
  std::string note() const override { return note_; }

 private:
  std::byte* mine(std::size_t message, int what) const {
    return memory_.mine + layout_.offsets[message][static_cast<std::size_t>(what)];
  }
  std::int64_t rows() const { return static_cast<std::int64_t>(messages_.size()); }
  Stream queue_for(Stream stream) const { return stream.is_host() ? own_.get() : stream; }

  static std::shared_ptr<void> on_gpu(const std::vector<FlagRow>& rows) {
    const auto bytes = static_cast<std::int64_t>(rows.size() * sizeof(FlagRow));
    std::shared_ptr<void> memory = device::allocate(Memory::device, bytes);
    device::copy(memory.get(), rows.data(), bytes, Stream::host());
    return memory;
  }

  std::string text_of(int message) const {
    std::string text;
    add_peer(text, "", messages_[static_cast<std::size_t>(message)]);
    return text;
  }

  std::vector<Message> messages_;
  std::string note_;
  Layout layout_;
  KernelWatch watch_;
  ReachedMemory memory_;
  std::vector<device::PortPeer> peers_;
  device::DevicePort port_{};
  std::shared_ptr<void> raised_, awaited_;  // lists of FlagRow
  device::OwnedStream own_;                 // for the host's stream
  std::uint64_t epoch_ = 0;
};

}  // namespace

std::vector<ReachedMemory::Offsets> swapped(const Communicator& communicator,
                                            const std::vector<int>& peers,
                                            const std::vector<ReachedMemory::Offsets>& mine) {
  comm::State& state = communicator.state();
  return comm::swap_with(state, peers, state.next_tag(), mine, "plan, connect");
}

std::unique_ptr<Channel> open_kernel_channel(const Communicator& communicator,
                                             std::vector<Message> messages, const WayToMemory& way,
                                             std::string note) {
  return std::make_unique<KernelChannel>(communicator, std::move(messages), way, std::move(note));
}

}  // namespace halocline::transport
