#include "exchange/decision.hpp"

#include <fmt/format.h>

#include "exchange/race.hpp"

namespace halocline::exchange {
namespace {

using transport::Pair;
using transport::Transport;

std::size_t index_of(Pair pair) { return static_cast<std::size_t>(pair); }

/// Whether auto would take one transport before another.
bool is_preferred(const Transport& one, const Transport* other) {
  for (const Transport* transport : transport::transports()) {
    if (transport == &one) return true;
    if (transport == other) return false;
  }
  return true;
}

/// Asks what is known of gpu_aware where it might be used, and tells why it is not.
void learn_of_proofs(const Communicator& communicator, const DecisionInputs& inputs,
                     Decision& decision) {
  const Transport& gpu_aware = transport::find_transport("gpu_aware");
  std::vector<Pair> candidates;
  for (const Pair pair : transport::pairs) {
    if (!inputs.there[index_of(pair)] || gpu_aware.unavailable(pair, inputs.fields)) continue;
    const bool is_left = is_left_to_auto(inputs.wanted, pair);
    if (!is_left || is_preferred(gpu_aware, choose(inputs.wanted, decision.facts)[index_of(pair)]))
      candidates.push_back(pair);
  }
  if (candidates.empty()) return;
  decision.facts.proved = proved_pairs(communicator, inputs.fields, inputs.proofs);
  for (const Pair pair : candidates) {
    const Proved& proved = decision.facts.proved[index_of(pair)];
    if (is_left_to_auto(inputs.wanted, pair) && proved.stand != Proved::Stand::works)
      decision.notes.push_back(fmt::format("transport gpu_aware was left out: {}", proved.words));
  }
}

/// Of a proved transport and what would do without it, keeps the one that is faster for these
/// messages: with gpu_aware and staged it depends on their size.
void drop_the_slower(const Communicator& communicator, const DecisionInputs& inputs, Pair pair,
                     Decision& decision) {
  const Transport* proved = decision.choice[index_of(pair)];
  if (proved == nullptr || !proved->capabilities().needs_proof ||
      !is_left_to_auto(inputs.wanted, pair))
    return;
  ChoiceFacts without = decision.facts;
  without.excluded[index_of(pair)].push_back(proved);
  const Transport* other = choose(inputs.wanted, without)[index_of(pair)];
  const auto& messages = inputs.messages[index_of(pair)];
  const double us = microseconds_of(communicator, *proved, messages, inputs.fields);
  const double other_us = microseconds_of(communicator, *other, messages, inputs.fields);
  decision.notes.push_back(fmt::format("{}: {} took {:.1f} us per exchange, {} {:.1f} us",
                                       transport::name_of(pair), proved->name(), us, other->name(),
                                       other_us));
  if (us <= other_us) return;
  decision.facts = without;
  decision.choice[index_of(pair)] = other;
}

}  // namespace

Decision decide(const Communicator& communicator, const DecisionInputs& inputs) {
  Decision decision{
      .facts = {.there = inputs.there, .fields = inputs.fields, .excluded = inputs.excluded},
      .choice = {},
      .notes = {}};
  learn_of_proofs(communicator, inputs, decision);
  decision.choice = choose(inputs.wanted, decision.facts);
  for (const Pair pair : transport::pairs) drop_the_slower(communicator, inputs, pair, decision);
  return decision;
}

}  // namespace halocline::exchange
