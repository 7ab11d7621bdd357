// SPDX-License-Identifier: Apache-2.0
#include "bench/combinations.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <halocline/error.hpp>

#include "comm/collectives.hpp"
#include "device/gpu.hpp"
#include "solver/option_words.hpp"

namespace halocline::bench {

using exchange::Proved;
using transport::Pair;
using transport::Transport;

namespace {

/// A search for transports between pairs of ranks.
struct Search {
  const Communicator& communicator;
  const WaysWanted& wanted;
  std::vector<Pair> pairs;
  Notes& notes;
};

/// Returns the option that selects a transport for all pairs that it can serve; nothing, with a
/// note, if there are none.
std::optional<std::string> spec_for(const Search& search, const Transport& transport, Memory memory,
                                    const exchange::ProvedTransports& proved) {
  std::vector<Pair> served;
  std::string why_not;
  for (const Pair pair : search.pairs) {
    if (const auto why = why_not_timed(transport, pair, memory, proved))
      why_not = *why;
    else
      served.push_back(pair);
  }
  if (served.empty()) {
    search.notes.add(fmt::format("transport {} is not timed with {} memory: {}", transport.name(),
                                 name_of(memory), why_not));
    return std::nullopt;
  }
  if (served == search.pairs) return std::string(transport.name());
  return fmt::format("{}={}", transport::name_of(served[0]), transport.name());
}

/// Returns whether a transport serves only GPU memory.
bool is_for_gpus(const Transport& transport, const std::vector<Pair>& pairs) {
  const auto serves_any = [&](Memory memory) {
    return std::any_of(pairs.begin(), pairs.end(),
                       [&](Pair pair) { return !transport.unavailable(pair, memory); });
  };
  return serves_any(Memory::device) && !serves_any(Memory::host);
}

/// Returns the transports that can be used between ranks and, if necessary, are proved.
std::vector<std::string> usable(const Search& search, Memory memory) {
  if (search.pairs.empty()) return {"auto"};
  const exchange::ProvedTransports proved =
      proofs_for(search.communicator, search.pairs, memory, search.wanted.proofs);
  std::vector<std::string> specs, for_gpus;
  for (const Transport* transport : transport::transports()) {
    if (transport->name() == "self") continue;
    if (!gpu_reads(memory) && is_for_gpus(*transport, search.pairs))
      for_gpus.emplace_back(transport->name());
    else if (const auto spec = spec_for(search, *transport, memory, proved))
      specs.push_back(*spec);
  }
  // Not worth a note without a GPU.
  if (!for_gpus.empty() && !device::gpus().list.empty())
    search.notes.add(
        fmt::format("transports for the memory of GPUs are not timed with {} memory: {}",
                    name_of(memory), fmt::join(for_gpus, ", ")));
  return specs;
}

/// Returns the requested transports that serve this memory.
std::vector<std::string> serving(const Search& search, Memory memory) {
  if (search.wanted.memories.size() == 1) return search.wanted.transports;
  std::vector<std::string> specs;
  for (const std::string& name : search.wanted.transports) {
    std::optional<std::string> why_not;
    if (name != "auto" && name.find('=') == std::string::npos)
      for (const Pair pair : search.pairs)
        if (!why_not) why_not = transport::find_transport(name).unavailable(pair, memory);
    if (why_not)
      search.notes.add(fmt::format("transport {} is not timed with {} memory: {}", name,
                                   name_of(memory), *why_not));
    else
      specs.push_back(name);
  }
  return specs;
}

}  // namespace

std::optional<std::string> why_not_timed(const transport::Transport& transport, Pair pair,
                                         Memory memory, const exchange::ProvedTransports& proved) {
  if (const auto why = transport.unavailable(pair, memory)) return why;
  const Proved proof = exchange::proved_of(proved, transport, pair);
  if (transport.capabilities().needs_proof && proof.stand != Proved::Stand::works)
    return proof.words.empty() ? transport.missing_here() : proof.words;
  return std::nullopt;
}

exchange::ProvedTransports proofs_for(const Communicator& communicator,
                                      const std::vector<Pair>& pairs, Memory memory,
                                      const std::optional<std::string>& file) {
  return exchange::look_up_proofs(communicator, exchange::transports_to_prove(pairs, memory),
                                  memory, file);
}

std::vector<Pair> pairs_between_ranks(const Communicator& communicator) {
  const int me = communicator.rank();
  std::int64_t shared = 0;  // some node has two ranks
  for (int rank = 0; rank < communicator.size(); ++rank)
    if (rank != me && communicator.node_of(rank) == communicator.node_of(me)) shared = 1;
  std::vector<Pair> pairs;
  if (comm::max_over_ranks(communicator, shared) > 0) pairs.push_back(Pair::same_node);
  if (communicator.node_count() > 1) pairs.push_back(Pair::other_node);
  return pairs;
}

void check_memories(const std::vector<std::string>& memories) {
  for (const std::string& memory : memories) {
    SolveOptions where;
    where.memory = solver::read_memory(memory);
    solver::check_target(where);
  }
}

std::vector<Combination> find_ways(const Communicator& communicator, const WaysWanted& wanted,
                                   Notes& notes) {
  const Search search{communicator, wanted, pairs_between_ranks(communicator), notes};
  std::vector<Combination> combinations;
  for (const std::string& memory : wanted.memories) {
    SolveOptions where;
    where.memory = solver::read_memory(memory);
    Combination combination{.target = solver::choose_target(communicator, where, notes),
                            .transports = {}};
    combination.transports = wanted.transports.empty() ? usable(search, combination.target.memory)
                                                       : serving(search, combination.target.memory);
    combinations.push_back(std::move(combination));
  }
  if (std::all_of(combinations.begin(), combinations.end(),
                  [](const Combination& combination) { return combination.transports.empty(); }))
    throw Error(ErrorKind::unavailable,
                fmt::format("nothing can be timed: {}", notes.all().empty() ? "" : notes.all()[0]));
  return combinations;
}

}  // namespace halocline::bench
