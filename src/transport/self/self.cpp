#include "transport/self/self.hpp"

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "device/buffer.hpp"

namespace halocline::transport {
namespace {

class SelfChannel final : public Channel {
 public:
  SelfChannel(const std::vector<Message>& messages, Memory slots) {
    for (const Message& message : messages) {
      const std::int64_t bytes = bytes_of(message.send);
      if (bytes != bytes_of(message.receive))
        throw Error(ErrorKind::internal, fmt::format("a rank sends itself {} bytes but expects {}",
                                                     bytes, bytes_of(message.receive)));
      slots_.push_back(device::allocate(slots, bytes));
    }
  }

  Slots send_slots(std::size_t message) override {
    auto* const slot = static_cast<std::byte*>(slots_[message].get());
    return {slot, slot};
  }
  Slots receive_slots(std::size_t message) override { return send_slots(message); }
  void start(Stream) override {}
  bool progress() override { return true; }
  void finish(Stream) override {}

 private:
  std::vector<std::shared_ptr<void>> slots_;
};

}  // namespace

std::optional<std::string> SelfTransport::unavailable(Pair pair, Memory) const {
  if (pair == Pair::self) return std::nullopt;
  return "it copies inside a rank only";
}

std::unique_ptr<Channel> SelfTransport::open(const Communicator&, std::vector<Message> messages,
                                             Memory fields) const {
  return std::make_unique<SelfChannel>(messages, slot_memory(fields));
}

}  // namespace halocline::transport
