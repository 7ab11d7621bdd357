#include "transport/self/self.hpp"

#include <fmt/format.h>

#include <halocline/error.hpp>

namespace halocline::transport {
namespace {

class SelfChannel final : public Channel {
 public:
  explicit SelfChannel(const std::vector<Message>& messages) {
    for (const Message& message : messages) {
      const std::int64_t bytes = bytes_of(message.send);
      if (bytes != bytes_of(message.receive))
        throw Error(ErrorKind::internal, fmt::format("a rank sends itself {} bytes but expects {}",
                                                     bytes, bytes_of(message.receive)));
      slots_.emplace_back(static_cast<std::size_t>(bytes));
    }
  }

  Slots send_slots(std::size_t message) override {
    return {slots_[message].data(), slots_[message].data()};
  }
  Slots receive_slots(std::size_t message) override { return send_slots(message); }
  void start(Stream) override {}
  bool progress() override { return true; }
  void finish(Stream) override {}

 private:
  std::vector<std::vector<std::byte>> slots_;
};

}  // namespace

std::optional<std::string> SelfTransport::unavailable(Pair pair) const {
  if (pair == Pair::self) return std::nullopt;
  return "it copies inside a rank only";
}

std::unique_ptr<Channel> SelfTransport::open(const Communicator&,
                                             std::vector<Message> messages) const {
  return std::make_unique<SelfChannel>(messages);
}

}  // namespace halocline::transport
