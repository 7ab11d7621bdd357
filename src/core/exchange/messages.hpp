// SPDX-License-Identifier: Apache-2.0
#pragma once
// What an exchange sends to whom: a pure function of grid, rank and field shapes.

#include <string>
#include <vector>

#include <halocline/exchange.hpp>

namespace halocline::exchange {

/// One box of one field on its way in one direction, as the receiving or sending rank sees it.
struct HaloPart {
  std::size_t field;
  Direction direction;
  Box box;
};

/// Everything between this rank and one peer. Pieces are listed by direction as the sender sees
/// it, then by field: both sides list the same bytes in the same order.
struct PeerMessage {
  int peer;
  std::vector<HaloPart> send, receive;
};

/// Lists messages by peer. Peers with nothing to swap in either direction are left out, on both
/// sides; a peer with bytes one way only stays, because every message is also a signal.
std::vector<PeerMessage> messages_of(const Grid& grid, int rank,
                                     const std::vector<HaloWidths>& widths_of_fields,
                                     Neighbours neighbours);

/// Says what a message brings: "field 'u', -x", for texts about what has not come.
std::string label_of(const PeerMessage& message, const FieldList& fields);

}  // namespace halocline::exchange
