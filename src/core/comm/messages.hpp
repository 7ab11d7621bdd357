// SPDX-License-Identifier: Apache-2.0
#pragma once
// Messages between two ranks, for layers that do not include mpi.h.

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <halocline/communicator.hpp>

#include "comm/waiting.hpp"

namespace halocline::comm {

/// Returns a tag for messages; see State::next_tag(). Every rank must ask in the same order.
int next_tag(const Communicator& communicator);

/// Messages in flight. Their memory must stay until they have been waited for; after an error, to
/// the end of the program.
class Messages {
 public:
  /// `site` is a string literal that names them in profiles and errors.
  Messages(const Communicator& communicator, int tag, const char* site);
  ~Messages();
  Messages(Messages&&) noexcept;
  Messages& operator=(Messages&&) noexcept;

  void receive(int from, std::span<std::byte> bytes);
  void send(int to, std::span<const std::byte> bytes);
  /// Arrives only when the other rank receives it: MPI need not store what is sent too early.
  void send_when_received(int to, std::span<const std::byte> bytes);

  /// Returns the ranks of the messages that have not arrived, or have not been taken.
  std::vector<int> missing() const;
  /// Waits for all. Throws communication after the wait limit, with what `name` makes of
  /// missing(); `memory` is kept then.
  void wait(const std::function<std::string(const std::vector<int>&)>& name,
            Wait::Limit limit = Wait::Limit::as_set, std::shared_ptr<const void> memory = nullptr);

 private:
  struct InFlight;
  std::unique_ptr<InFlight> in_flight_;
};

}  // namespace halocline::comm
