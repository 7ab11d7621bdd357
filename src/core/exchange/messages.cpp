// SPDX-License-Identifier: Apache-2.0
#include "exchange/messages.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "grid/halo_regions.hpp"

namespace halocline::exchange {
namespace {

bool by_direction(const HaloPart& a, const HaloPart& b) {
  return grid::direction_index(a.direction) < grid::direction_index(b.direction);
}

/// The sender's direction is the opposite of the one in which the receiver sees the halo.
bool by_senders_direction(const HaloPart& a, const HaloPart& b) { return by_direction(b, a); }

}  // namespace

std::vector<PeerMessage> messages_of(const Grid& grid, int rank,
                                     const std::vector<HaloWidths>& widths_of_fields,
                                     Neighbours neighbours) {
  std::map<int, PeerMessage> by_peer;
  for (std::size_t field = 0; field < widths_of_fields.size(); ++field)
    for (const grid::HaloRegion& region :
         grid::halo_regions(grid, rank, widths_of_fields[field], neighbours)) {
      PeerMessage& message = by_peer[region.peer];
      message.peer = region.peer;
      if (!region.send.empty()) message.send.push_back({field, region.direction, region.send});
      if (!region.receive.empty())
        message.receive.push_back({field, region.direction, region.receive});
    }

  std::vector<PeerMessage> messages;
  for (auto& [peer, message] : by_peer) {
    if (message.send.empty() && message.receive.empty()) continue;
    std::stable_sort(message.send.begin(), message.send.end(), by_direction);
    std::stable_sort(message.receive.begin(), message.receive.end(), by_senders_direction);
    messages.push_back(std::move(message));
  }
  return messages;
}

std::string title_of(const FieldStorage& field, std::size_t index) {
  static const std::string without_name = FieldOptions{}.name;
  return field.name() == without_name ? fmt::format("{}", index + 1)
                                      : fmt::format("'{}'", field.name());
}

std::string title_in_exchange(const FieldList& fields, std::size_t index) {
  const std::string title = title_of(fields[index], index);
  return title.starts_with('\'') ? title : title + " of the exchange";
}

std::string label_of(const PeerMessage& message, const FieldList& fields) {
  if (message.receive.empty()) return "its signal";
  std::vector<std::string> names, directions;
  const auto add = [](std::vector<std::string>& list, const std::string& entry) {
    if (std::find(list.begin(), list.end(), entry) == list.end()) list.push_back(entry);
  };
  for (const HaloPart& piece : message.receive) {
    add(names, title_in_exchange(fields, piece.field));
    add(directions, grid::direction_name(piece.direction));
  }
  return fmt::format("field{} {}, direction{} {}", names.size() > 1 ? "s" : "",
                     fmt::join(names, ", "), directions.size() > 1 ? "s" : "",
                     fmt::join(directions, ", "));
}

}  // namespace halocline::exchange
