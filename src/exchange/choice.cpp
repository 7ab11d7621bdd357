#include "exchange/choice.hpp"

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

const Transport* first_that_serves(Pair pair, Memory fields, const Transport* excluded) {
  for (const Transport* transport : transport::transports())
    if (transport != excluded && !transport->capabilities().needs_proof &&
        !transport->unavailable(pair, fields))
      return transport;
  throw Error(ErrorKind::internal, "no transport serves a pair; mpi or staged should");
}

}  // namespace

Choice choose(const std::string& wanted, const PairsThere& there, Memory fields,
              const Transport* excluded) {
  const std::map<Pair, std::string> names = parse(wanted);
  Choice choice{};
  for (const Pair pair : transport::pairs) {
    const auto index = static_cast<std::size_t>(pair);
    if (!there[index]) continue;
    const auto name = names.find(pair);
    if (name == names.end()) {
      choice[index] = first_that_serves(pair, fields, excluded);
      continue;
    }
    const Transport& transport = transport::find_transport(name->second);
    if (const auto why = transport.unavailable(pair, fields))
      throw Error(
          ErrorKind::unavailable,
          fmt::format("transport {} cannot serve {} pairs of fields in {} memory: {}; use auto, or {}={} "
                      "for them",
                      transport.name(), transport::name_of(pair), name_of(fields), *why,
                      transport::name_of(pair),
                      first_that_serves(pair, fields, &transport)->name()));
    choice[index] = &transport;
  }
  return choice;
}

}  // namespace halocline::exchange
