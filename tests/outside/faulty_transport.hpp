// SPDX-License-Identifier: Apache-2.0
#pragma once
// A transport named "faulty": mpi, with what a test does to messages that have arrived.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "transport/transport.hpp"

namespace halocline::test {

/// What goes wrong with a message that has arrived.
using Fault = std::function<void(std::byte* received, std::int64_t bytes)>;

class FaultyTransport final : public transport::Transport {
 public:
  void set(Fault fault) { fault_ = std::move(fault); }
  std::string_view name() const override { return "faulty"; }
  std::optional<std::string> unavailable(transport::Pair, Memory) const override {
    return std::nullopt;
  }
  bool is_for_auto(Memory) const override { return false; }
  transport::Capabilities capabilities() const override;
  std::unique_ptr<transport::Channel> open(const Communicator& communicator,
                                           std::vector<transport::Message> messages,
                                           Memory memory) const override;

 private:
  const transport::Transport& mpi_ = transport::find_transport("mpi");
  Fault fault_;
};

/// The one among the transports: they are found by their names.
FaultyTransport& faulty();

}  // namespace halocline::test
