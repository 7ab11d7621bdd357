// SPDX-License-Identifier: Apache-2.0
#include "exchange/selection/decision.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "comm/collectives.hpp"
#include "device/gpu.hpp"
#include "exchange/selection/race.hpp"
#include "machine/cores.hpp"
#include "machine/gpu_facts.hpp"

namespace halocline::exchange {
namespace {

using transport::Pair;
using transport::Transport;

std::size_t index_of(Pair pair) { return static_cast<std::size_t>(pair); }

/// Whether auto prefers one transport to another.
bool is_preferred(const Transport& one, const Transport* other) {
  for (const Transport* transport : transport::transports()) {
    if (transport == &one) return true;
    if (transport == other) return false;
  }
  return true;
}

/// Whether a transport that needs a proof may be used for a pair: requested, or before what auto
/// takes without proofs.
bool may_be_used(const Transport& transport, Pair pair, const DecisionInputs& inputs,
                 const Choice& without_proofs) {
  const std::size_t index = index_of(pair);
  if (!inputs.there[index] || transport.unavailable(pair, inputs.fields)) return false;
  if (inputs.wanted[index] != nullptr) return inputs.wanted[index] == &transport;
  if (!transport.is_for_auto(inputs.fields)) return false;
  if (transport.capabilities().needs_order && !inputs.same_order) return false;
  return is_preferred(transport, without_proofs[index]);
}

/// Returns the first ranks of a node that share a GPU without MPS, "ranks 0 and 1"; empty if none
/// do. Collective.
std::string ranks_that_take_turns(const Communicator& communicator) {
  std::string own;
  comm::together(communicator,
                 [&] { own = (machine::mps_listens() ? '+' : '-') + device::current_gpu().uuid; });
  const std::vector<std::string> gpus = comm::gather_texts(communicator, own);
  std::map<std::pair<int, std::string>, std::size_t> first_on;
  for (std::size_t rank = 0; rank < gpus.size(); ++rank) {
    const auto [other, is_first] = first_on.emplace(
        std::pair(communicator.node_of(static_cast<int>(rank)), gpus[rank].substr(1)), rank);
    if (!is_first && (gpus[rank][0] == '-' || gpus[other->second][0] == '-'))
      return comm::broadcast(communicator, fmt::format("ranks {} and {}", other->second, rank), 0);
  }
  return comm::broadcast(communicator, "", 0);
}

/// Leaves transports of kernels that wait for each other to auto only where they run at the same
/// time. Kernels of processes that share a GPU take turns, and one that waits keeps the one it
/// waits for from running until its turn ends: of laplace, 4096^2 in fp64 on one H200, two ranks
/// did 3.3 GLUP/s by peer and 27 by staged, four 1.2 and 13.
void leave_out_kernels_in_turns(const Communicator& communicator, const DecisionInputs& inputs,
                                Decision& decision) {
  const std::size_t same_node = index_of(Pair::same_node);
  if (!inputs.there[same_node] || inputs.wanted[same_node] != nullptr) return;
  std::vector<const Transport*> kernels = candidates(decision.facts, Pair::same_node);
  std::erase_if(kernels, [](const Transport* one) {
    return one->capabilities().carrier != transport::Carrier::kernels;
  });
  if (kernels.empty()) return;
  const std::string sharing = ranks_that_take_turns(communicator);
  if (sharing.empty()) return;
  for (const Transport* one : kernels) {
    decision.facts.excluded[same_node].push_back(one);
    decision.notes.push_back(
        fmt::format("transport {} was left out: {} share a GPU without MPS, where its kernels "
                    "would take turns to wait for each other; use a rank for each GPU, or start "
                    "MPS (nvidia-cuda-mps-control -d)",
                    one->name(), sharing));
  }
}

/// Looks up proofs of transports where they might be used, and notes why they are not used.
void learn_of_proofs(const Communicator& communicator, const DecisionInputs& inputs,
                     Decision& decision) {
  const std::vector<Pair> pairs(std::begin(transport::pairs), std::end(transport::pairs));
  const Choice without_proofs = choose(inputs.wanted, decision.facts);
  std::vector<const Transport*> candidates = transports_to_prove(pairs, inputs.fields);
  std::erase_if(candidates, [&](const Transport* one) {
    return std::none_of(pairs.begin(), pairs.end(),
                        [&](Pair pair) { return may_be_used(*one, pair, inputs, without_proofs); });
  });
  decision.facts.proved = look_up_proofs(communicator, candidates, inputs.fields, inputs.proofs);
  for (const Transport* one : candidates) {
    for (const Pair pair : pairs) {
      const Proved proved = proved_of(decision.facts.proved, *one, pair);
      if (inputs.wanted[index_of(pair)] == nullptr && proved.stand != Proved::Stand::works &&
          !proved.words.empty() && may_be_used(*one, pair, inputs, without_proofs))
        decision.notes.push_back(
            fmt::format("transport {} was left out: {}", one->name(), proved.words));
    }
  }
}

/// Returns the size of the largest message of any rank, in bytes.
std::int64_t largest_message(const Communicator& communicator,
                             const std::vector<transport::Message>& messages) {
  std::int64_t bytes = 0;
  for (const transport::Message& message : messages)
    bytes =
        std::max({bytes, transport::bytes_of(message.send), transport::bytes_of(message.receive)});
  return comm::max_over_ranks(communicator, bytes);
}

/// Returns the transports that auto may use and has to race: where kernels store into the peers'
/// memory, only those that stay on the stream too. On four H200 an exchange of 64 KiB faces took
/// 4.3 us by peer in a graph and 80 us by staged (bench/results/h200x4/gpu-peer-faces.txt), which
/// keeps the host in every sweep. Between nodes it depends on the network, and all of them race.
std::vector<const Transport*> in_the_race(std::vector<const Transport*> all) {
  if (!all.empty() && all.front()->capabilities().carrier == transport::Carrier::kernels)
    std::erase_if(all, [](const Transport* transport) {
      return !transport->capabilities().stays_on_stream();
    });
  return all;
}

/// Whether the order of the table may be wrong for these messages.
bool is_open(const Communicator& communicator, const Transport& first,
             const std::vector<transport::Message>& messages) {
  const transport::Capabilities can = first.capabilities();
  if (can.stays_on_stream()) return true;
  // A GPU-aware MPI is slower than staging below some size, and faster above.
  if (can.needs_proof) return true;
  // On the host the race matters for large messages only: with 2 and 8 KiB shared memory took 0.7
  // of MPI's time, with 32 KiB and more it depends on how MPI copies between processes. Ranks that
  // share cores wait for each other, not for messages.
  return largest_message(communicator, messages) >= (std::int64_t{32} << 10) &&
         comm::max_over_ranks(communicator, std::int64_t{communicator.node_size() >
                                                         machine::node_cores(communicator)}) == 0;
}

/// Of the transports that auto may use for such pairs, keeps the fastest for these messages.
void keep_the_fastest(const Communicator& communicator, const DecisionInputs& inputs, Pair pair,
                      Decision& decision) {
  const Transport*& chosen = decision.choice[index_of(pair)];
  if (chosen == nullptr || inputs.wanted[index_of(pair)] != nullptr) return;
  const std::vector<const Transport*> all = in_the_race(candidates(decision.facts, pair));
  const auto& messages = inputs.messages[index_of(pair)];
  if (all.size() < 2 || !is_open(communicator, *chosen, messages)) return;
  std::optional<double> least;
  for (const Transport* transport : all) {
    std::optional<Trial> trial;
    try {
      trial.emplace(communicator, *transport, messages, TrialFields{.memory = inputs.fields});
    } catch (const Error& error) {  // the same on every rank
      if (error.kind() == ErrorKind::internal || transport == all.back()) throw;
      decision.facts.excluded[index_of(pair)].push_back(transport);
      decision.notes.push_back(
          fmt::format("transport {} was left out: {}", transport->name(), error.what()));
      continue;
    }
    const double us = microseconds_of(communicator, *transport, *trial);
    decision.races.push_back(
        {std::string(transport::name_of(pair)), std::string(transport->name()), us});
    // The first of the table stays unless another is clearly faster.
    if (!least || us < 0.9 * *least) {
      least = us;
      chosen = transport;
    }
  }
}

}  // namespace

Decision decide(const Communicator& communicator, const DecisionInputs& inputs) {
  Decision decision{.facts = {.there = inputs.there,
                              .fields = inputs.fields,
                              .same_order = inputs.same_order,
                              .excluded = inputs.excluded},
                    .choice = {},
                    .notes = {},
                    .races = {}};
  leave_out_kernels_in_turns(communicator, inputs, decision);
  learn_of_proofs(communicator, inputs, decision);
  decision.choice = choose(inputs.wanted, decision.facts);
  for (const Pair pair : transport::pairs) keep_the_fastest(communicator, inputs, pair, decision);
  for (const ExchangeInfo::Race& race : decision.races) {
    const Transport& raced = transport::find_transport(race.transport);
    const Choice& kept = decision.choice;
    if (std::find(kept.begin(), kept.end(), &raced) == kept.end()) raced.forget(communicator);
  }
  return decision;
}

}  // namespace halocline::exchange
