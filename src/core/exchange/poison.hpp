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
  Poison(std::vector<PeerMessage> messages, const FieldList& fields, Memory memory);
  ~Poison();
  Poison(const Poison&) = delete;
  Poison& operator=(const Poison&) = delete;

  /// Fills these halos, in the order of a stream that may copy them.
  void run(Stream stream, pack::Shifts shifts) const { all_.run(stream, shifts); }
  std::int64_t widest_word() const { return all_.widest_word(); }
  /// Fills the halos of those of the fields, or others like them, that have no plan yet: others may
  /// have been exchanged. Waits. Throws resource.
  void begin(const FieldList& fields, Stream stream);

 private:
  pack::Bundle bundle_for(const FieldList& fields) const;

  std::vector<PeerMessage> messages_;
  Memory memory_;
  std::vector<const std::byte*> begun_;  // first owned cells of fields
  std::shared_ptr<void> source_;
  pack::Copies all_;
};

}  // namespace halocline::exchange
