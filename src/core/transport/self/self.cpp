// SPDX-License-Identifier: Apache-2.0
#include "transport/self/self.hpp"

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "device/buffer.hpp"

namespace halocline::transport {
namespace {

class SelfChannel final : public Channel {
 public:
  SelfChannel(const std::vector<Message>& messages, Memory fields)
      : on_gpu_(fields == Memory::device) {
    const Memory slots = slot_memory(fields);
    for (const Message& message : messages) {
      const std::int64_t bytes = bytes_of(message.send);
      if (bytes != bytes_of(message.receive))
        throw Error(ErrorKind::internal, fmt::format("a rank sends itself {} bytes but expects {}",
                                                     bytes, bytes_of(message.receive)));
      slots_.push_back(device::allocate(slots, bytes));
      if (on_gpu_) add_port(bytes);
    }
    port_ = {peers_.data(), static_cast<int>(peers_.size()), nullptr, nullptr};
  }

  Slots send_slots(std::size_t message) override {
    auto* const slot = static_cast<std::byte*>(slots_[message].get());
    return {slot, slot};
  }
  Slots receive_slots(std::size_t message) override { return send_slots(message); }
  void start(Stream) override {}
  bool progress() override { return true; }
  void finish(Stream) override {}
  const device::DevicePort* port() const override { return on_gpu_ ? &port_ : nullptr; }
  bool kernels_signal() const override { return on_gpu_; }

 private:
  /// With flags a GPU packs and unpacks in one launch.
  void add_port(std::int64_t bytes) {
    flags_.push_back(device::allocate(
        Memory::device, device::chunks_of(bytes) * std::int64_t{sizeof(std::uint64_t)}));
    auto* const slot = static_cast<std::byte*>(slots_.back().get());
    auto* const flags = static_cast<std::uint64_t*>(flags_.back().get());
    peers_.push_back({{slot, slot}, flags, flags});
  }

  bool on_gpu_;
  std::vector<std::shared_ptr<void>> slots_, flags_;
  std::vector<device::PortPeer> peers_;
  device::DevicePort port_{};
};

}  // namespace

std::optional<std::string> SelfTransport::unavailable(Pair pair, Memory) const {
  if (pair == Pair::self) return std::nullopt;
  return "it only copies inside a rank";
}

std::unique_ptr<Channel> SelfTransport::open(const Communicator&, std::vector<Message> messages,
                                             Memory fields) const {
  return std::make_unique<SelfChannel>(messages, fields);
}

}  // namespace halocline::transport
