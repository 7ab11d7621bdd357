// SPDX-License-Identifier: Apache-2.0
#include "exchange/selection/choice.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include <halocline/error.hpp>

namespace halocline::exchange {
namespace {

using transport::Pair;
using transport::Transport;

/// Whether auto must not use a transport for a pair.
bool is_out(const Transport& transport, Pair pair, const ChoiceFacts& facts) {
  const auto index = static_cast<std::size_t>(pair);
  const auto& excluded = facts.excluded[index];
  return std::find(excluded.begin(), excluded.end(), &transport) != excluded.end() ||
         (transport.capabilities().needs_proof &&
          proved_of(facts.proved, transport, pair).stand != Proved::Stand::works) ||
         !transport.is_for_auto(facts.fields) ||
         (transport.capabilities().needs_order && !facts.same_order) ||
         transport.unavailable(pair, facts.fields).has_value();
}

const Transport* first_that_serves(Pair pair, const ChoiceFacts& facts) {
  const std::vector<const Transport*> all = candidates(facts, pair);
  if (all.empty())
    throw Error(ErrorKind::internal, "no transport serves a pair; mpi or staged should");
  return all.front();
}

/// Throws unavailable if a requested transport cannot serve a pair.
void require_serving(const Transport& transport, Pair pair, const ChoiceFacts& facts) {
  const std::string_view kind = transport::name_of(pair);
  if (const auto why = transport.unavailable(pair, facts.fields))
    throw Error(ErrorKind::unavailable,
                fmt::format("transport {} cannot serve {} pairs of fields in {} memory: {}; use "
                            "auto, or {}={} for them",
                            transport.name(), kind, name_of(facts.fields), *why, kind,
                            first_that_serves(pair, facts)->name()));
  const Proved proved = proved_of(facts.proved, transport, pair);
  if (proved.stand == Proved::Stand::fails)
    throw Error(ErrorKind::unavailable, fmt::format("transport {} fails here, as a test showed: {}",
                                                    transport.name(), proved.words));
}

}  // namespace

Choice choice_of(const ExchangeInfo& info) {
  Choice choice{};
  for (const Pair pair : transport::pairs)
    for (const auto& [kind, name] : info.transports)
      if (kind == transport::name_of(pair))
        choice[static_cast<std::size_t>(pair)] = &transport::find_transport(name);
  return choice;
}

std::vector<std::pair<std::string, std::string>> names_of(const Choice& choice) {
  std::vector<std::pair<std::string, std::string>> names;
  for (const Pair pair : transport::pairs)
    if (const Transport* one = choice[static_cast<std::size_t>(pair)])
      names.emplace_back(transport::name_of(pair), one->name());
  return names;
}

std::string text_of(const Choice& choice) {
  ExchangeInfo info;
  info.transports = names_of(choice);
  return info.transport();
}

WantedTransports read_wanted(const std::string& text) {
  WantedTransports wanted{};
  if (text == "auto") return wanted;
  if (text.find('=') == std::string::npos) {
    const Transport& one = transport::find_transport(text);
    for (const Pair pair : transport::pairs)
      if (pair != Pair::self || text == "self") wanted[static_cast<std::size_t>(pair)] = &one;
    return wanted;
  }
  std::array<bool, std::size(transport::pairs)> is_named{};
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string entry = text.substr(at, end - at);
    at = end + 1;
    const std::size_t equals = entry.find('=');
    const auto pair =
        std::find_if(std::begin(transport::pairs), std::end(transport::pairs),
                     [&](Pair one) { return transport::name_of(one) == entry.substr(0, equals); });
    if (pair == std::end(transport::pairs) || equals == std::string::npos)
      throw Error(ErrorKind::usage,
                  fmt::format("'{}' in transport '{}' is invalid; use self=, same-node= or "
                              "other-node= with the name of a transport",
                              entry, text));
    bool& named = is_named[static_cast<std::size_t>(*pair)];
    if (named)
      throw Error(ErrorKind::usage,
                  fmt::format("transport '{}' names {} twice; name each kind of pair once", text,
                              transport::name_of(*pair)));
    named = true;
    const std::string name = entry.substr(equals + 1);
    if (name != "auto") wanted[static_cast<std::size_t>(*pair)] = &transport::find_transport(name);
  }
  return wanted;
}

Choice choose(const WantedTransports& wanted, const ChoiceFacts& facts) {
  Choice choice{};
  for (const Pair pair : transport::pairs) {
    const auto index = static_cast<std::size_t>(pair);
    if (!facts.there[index]) continue;
    choice[index] = wanted[index] != nullptr ? wanted[index] : first_that_serves(pair, facts);
    if (wanted[index] != nullptr) require_serving(*wanted[index], pair, facts);
  }
  return choice;
}

std::vector<const Transport*> candidates(const ChoiceFacts& facts, Pair pair) {
  std::vector<const Transport*> all;
  for (const Transport* transport : transport::transports())
    if (!is_out(*transport, pair, facts)) all.push_back(transport);
  const bool kernels_reach = std::any_of(all.begin(), all.end(), [](const Transport* transport) {
    return transport->capabilities().carrier == transport::Carrier::kernels;
  });
  if (kernels_reach)
    std::erase_if(all, [](const Transport* transport) {
      return transport->capabilities().is_costly_to_start;
    });
  return all;
}

}  // namespace halocline::exchange
