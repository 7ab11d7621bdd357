// SPDX-License-Identifier: Apache-2.0
#pragma once
// Poison in the halos of a plan, for programs that read them before they are filled:
// field/poison.hpp.

#include <memory>
#include <vector>

#include <halocline/exchange.hpp>
#include <halocline/stream.hpp>

#include "exchange/messages.hpp"
#include "pack/pack.hpp"

namespace halocline::exchange {

class Poison {
 public:
  /// Does nothing when run.
  Poison() = default;
  /// For all that `messages` bring into fields, of which `memory` is the one they have in common.
  /// Throws resource.
  Poison(const std::vector<PeerMessage>& messages, const FieldList& fields, Memory memory);
  /// Fills these halos, in the order of a stream that copies halos may be on.
  void run(Stream stream) const { copies_.run(stream); }

 private:
  std::shared_ptr<void> source_;
  pack::Copies copies_;
};

}  // namespace halocline::exchange
