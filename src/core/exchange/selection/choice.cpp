// SPDX-License-Identifier: Apache-2.0
#include "exchange/selection/choice.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include <halocline/error.hpp>

namespace halocline::exchange {
namespace {

using transport::Pair;
using transport::Transport;

/// What was asked for, by kind of pair; kinds that are not in it are left to auto.
std::map<Pair, std::string> parse(const std::string& wanted) {
  std::map<Pair, std::string> names;
  if (wanted == "auto") return names;
  if (wanted.find('=') == std::string::npos) {
    transport::find_transport(wanted);
    for (const Pair pair : transport::pairs)
      if (pair != Pair::self || wanted == "self") names[pair] = wanted;
    return names;
  }
  for (std::size_t at = 0; at < wanted.size();) {
    const std::size_t end = std::min(wanted.find(',', at), wanted.size());
    const std::string entry = wanted.substr(at, end - at);
    at = end + 1;
    const std::size_t equals = entry.find('=');
    const std::string kind = entry.substr(0, equals);
    std::optional<Pair> pair;
    for (const Pair candidate : transport::pairs)
      if (transport::name_of(candidate) == kind) pair = candidate;
    if (!pair || equals == std::string::npos)
      throw Error(ErrorKind::usage,
                  fmt::format("'{}' in transport '{}' is not one of self=, same-node= or "
                              "other-node= with the name of a transport",
                              entry, wanted));
    const std::string name = entry.substr(equals + 1);
    if (name == "auto") continue;
    transport::find_transport(name);
    names[*pair] = name;
  }
  return names;
}

/// Why auto does not take a transport for a pair; nothing if it may.
bool is_out(const Transport& transport, Pair pair, const ChoiceFacts& facts) {
  const auto index = static_cast<std::size_t>(pair);
  const auto& excluded = facts.excluded[index];
  return std::find(excluded.begin(), excluded.end(), &transport) != excluded.end() ||
         (transport.capabilities().needs_proof &&
          facts.proved[index].stand != Proved::Stand::works) ||
         !transport.is_for_auto(facts.fields) ||
         transport.unavailable(pair, facts.fields).has_value();
}

const Transport* first_that_serves(Pair pair, const ChoiceFacts& facts) {
  const std::vector<const Transport*> all = candidates(facts, pair);
  if (all.empty())
    throw Error(ErrorKind::internal, "no transport serves a pair; mpi or staged should");
  return all.front();
}

/// Throws unavailable if a transport that was asked for cannot serve a pair.
void require_serving(const Transport& transport, Pair pair, const ChoiceFacts& facts) {
  const std::string_view kind = transport::name_of(pair);
  if (const auto why = transport.unavailable(pair, facts.fields))
    throw Error(ErrorKind::unavailable,
                fmt::format("transport {} cannot serve {} pairs of fields in {} memory: {}; use "
                            "auto, or {}={} for them",
                            transport.name(), kind, name_of(facts.fields), *why, kind,
                            first_that_serves(pair, facts)->name()));
  const Proved& proved = facts.proved[static_cast<std::size_t>(pair)];
  if (transport.capabilities().needs_proof && proved.stand == Proved::Stand::fails)
    throw Error(ErrorKind::unavailable, fmt::format("transport {} was shown to fail here: {}",
                                                    transport.name(), proved.words));
}

}  // namespace

Choice choose(const std::string& wanted, const ChoiceFacts& facts) {
  const std::map<Pair, std::string> names = parse(wanted);
  Choice choice{};
  for (const Pair pair : transport::pairs) {
    const auto index = static_cast<std::size_t>(pair);
    if (!facts.there[index]) continue;
    const auto name = names.find(pair);
    choice[index] = name == names.end() ? first_that_serves(pair, facts)
                                        : &transport::find_transport(name->second);
    if (name != names.end()) require_serving(*choice[index], pair, facts);
  }
  return choice;
}

std::vector<const Transport*> candidates(const ChoiceFacts& facts, Pair pair) {
  std::vector<const Transport*> all;
  for (const Transport* transport : transport::transports())
    if (!is_out(*transport, pair, facts)) all.push_back(transport);
  return all;
}

bool is_left_to_auto(const std::string& wanted, Pair pair) { return !parse(wanted).contains(pair); }

}  // namespace halocline::exchange
