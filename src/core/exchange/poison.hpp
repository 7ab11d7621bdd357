// SPDX-License-Identifier: Apache-2.0
#pragma once
// Poison in the halos of a plan, for programs that read them before they are filled:
// field/poison.hpp.

#include <cstddef>
#include <memory>
#include <vector>

#include <halocline/exchange.hpp>
#include <halocline/stream.hpp>

#include "exchange/messages.hpp"
#include "pack/pack.hpp"

namespace halocline::exchange {

class Poison {
 public:
  /// For all that `messages` bring into fields, of which `memory` is the one they have in common.
  /// Throws resource.
  Poison(const std::vector<PeerMessage>& messages, const FieldList& fields, Memory memory);
  ~Poison();
  Poison(const Poison&) = delete;
  Poison& operator=(const Poison&) = delete;

  /// Fills these halos, in the order of a stream that may copy them.
  void run(Stream stream) const { all_.run(stream); }
  /// Fills the halos of fields that had no plan when this one was made: others may have been
  /// exchanged.
  void run_first(Stream stream) const { first_.run(stream); }

 private:
  std::vector<const std::byte*> fields_;
  std::shared_ptr<void> source_;
  pack::Copies all_, first_;
};

}  // namespace halocline::exchange
