#include "bench/usable.hpp"

#include <algorithm>

#include "comm/collectives.hpp"
#include "solver/place.hpp"

namespace halocline::bench {

using exchange::Proved;
using transport::Pair;

std::optional<std::string> why_not_timed(const transport::Transport& transport, Pair pair,
                                         Memory memory, const exchange::ProvedPairs& proved) {
  if (const auto why = transport.unavailable(pair, memory)) return why;
  const Proved& proof = proved[static_cast<std::size_t>(pair)];
  if (transport.capabilities().needs_proof && proof.stand != Proved::Stand::works)
    return proof.words;
  return std::nullopt;
}

exchange::ProvedPairs proofs_for(const Communicator& communicator, const std::vector<Pair>& pairs,
                                 Memory memory, const std::optional<std::string>& file) {
  const transport::Transport& gpu_aware = transport::find_transport("gpu_aware");
  if (std::any_of(pairs.begin(), pairs.end(),
                  [&](Pair pair) { return !gpu_aware.unavailable(pair, memory); }))
    return exchange::proved_pairs(communicator, memory, file);
  return {};
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
    where.memory = memory;
    solver::check_place(where);
  }
}

}  // namespace halocline::bench
