// SPDX-License-Identifier: Apache-2.0
#pragma once
// The messages of an exchange: a pure function of grid, rank and field shapes.

#include <string>
#include <vector>

#include <halocline/exchange.hpp>

namespace halocline::exchange {

/// One box of one field, sent in one direction, as the receiving or sending rank sees it.
struct HaloPart {
  std::size_t field;
  Direction direction;
  Box box;
};

/// All pieces between this rank and one peer, in order of the sender's direction, then by field:
/// both sides list the same bytes in the same order.
struct PeerMessage {
  int peer;
  std::vector<HaloPart> send, receive;
};

/// Lists messages by peer. Both sides omit peers without bytes in either direction; a peer with
/// bytes one way only stays, because every message is also a signal.
std::vector<PeerMessage> messages_of(const Grid& grid, int rank,
                                     const std::vector<HaloWidths>& widths_of_fields,
                                     Neighbours neighbours);

/// Names a field in errors after the word: "'u'", or "2" for the second of a list if the program
/// gave it no name.
std::string title_of(const FieldStorage& field, std::size_t index);
/// The same for a field of an exchange: "'u'" or "2 of the exchange".
std::string title_in_exchange(const FieldList& fields, std::size_t index);

/// Describes a message's content: "field 'u', -x", for errors about missing messages.
std::string label_of(const PeerMessage& message, const FieldList& fields);

}  // namespace halocline::exchange
