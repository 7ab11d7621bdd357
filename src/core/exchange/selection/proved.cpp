// SPDX-License-Identifier: Apache-2.0
#include "exchange/selection/proved.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "comm/collectives.hpp"
#include "device/gpu.hpp"
#include "proof/at_hand.hpp"
#include "proof/fixes.hpp"

namespace halocline::exchange {
namespace {

using proof::GpuPair;
using transport::Pair;
using Stand = Proved::Stand;

std::string_view how_to_prove(GpuPair pair) {
  return pair == GpuPair::other_node
             ? "halocline doctor, run over both nodes, proves it"
             : "a halocline command on two ranks or more proves it before it starts";
}

/// Returns the kinds of pairs that the GPUs of ranks on one node form.
std::vector<GpuPair> pairs_on_nodes(const Communicator& communicator,
                                    const std::vector<std::string>& uuids) {
  std::map<int, std::vector<std::string>> by_node;
  for (std::size_t rank = 0; rank < uuids.size(); ++rank)
    by_node[communicator.node_of(static_cast<int>(rank))].push_back(uuids[rank]);
  bool same = false, different = false;
  for (const auto& [node, of_node] : by_node) {
    const std::set<std::string> distinct(of_node.begin(), of_node.end());
    same |= distinct.size() < of_node.size();
    different |= distinct.size() > 1;
  }
  std::vector<GpuPair> pairs;
  if (same) pairs.push_back(GpuPair::same_gpu);
  if (different) pairs.push_back(GpuPair::same_node);
  return pairs;
}

/// Returns the worst result of all `pairs`.
Proved judge(const proof::ProofsAtHand& at_hand, const std::vector<GpuPair>& pairs,
             const transport::Transport& transport, Memory memory, const std::string& library) {
  Proved result{.stand = Stand::works, .words = {}};
  for (const GpuPair pair : pairs) {
    const auto found = proof::find(
        at_hand.proofs, {.path = std::string(transport.name()), .pair = pair, .memory = memory},
        at_hand.key.hash);
    if (!found) {
      if (result.stand == Stand::works)
        result = {Stand::unknown,
                  transport.missing_here()
                      ? ""
                      : fmt::format(
                            "no proof shows that it works with {} memory between {} ranks here; {}",
                            name_of(memory), proof::name_of(pair), how_to_prove(pair))};
    } else if (found->outcome != proof::Outcome::works) {
      result = {Stand::fails,
                fmt::format("{} memory between {} ranks, tested {}: {}; {}", name_of(memory),
                            proof::name_of(pair), found->when, found->how,
                            transport.capabilities().trusts_mpi
                                ? proof::fix(library, current_variables(), found->signal)
                                : std::string(transport.when_it_fails()))};
      return result;
    }
  }
  return result;
}

/// Encodes the state as a letter, followed by the words.
std::string packed(const Proved& proved) {
  return std::string(1, proved.stand == Stand::works   ? 'w'
                        : proved.stand == Stand::fails ? 'f'
                                                       : 'u') +
         proved.words;
}

Proved unpacked(const std::string& text) {
  return {text[0] == 'w'   ? Stand::works
          : text[0] == 'f' ? Stand::fails
                           : Stand::unknown,
          text.substr(1)};
}

}  // namespace

Proved proved_of(const ProvedTransports& proved, const transport::Transport& transport, Pair pair) {
  const auto found = proved.find(&transport);
  return found == proved.end() ? Proved{} : found->second[static_cast<std::size_t>(pair)];
}

std::vector<const transport::Transport*> transports_to_prove(const std::vector<Pair>& pairs,
                                                             Memory memory) {
  std::vector<const transport::Transport*> all;
  for (const transport::Transport* one : transport::transports())
    if (one->capabilities().needs_proof && std::any_of(pairs.begin(), pairs.end(), [&](Pair pair) {
          return !one->unavailable(pair, memory);
        }))
      all.push_back(one);
  return all;
}

ProvedTransports look_up_proofs(const Communicator& communicator,
                                const std::vector<const transport::Transport*>& transports,
                                Memory memory, const std::optional<std::string>& file) {
  ProvedTransports proved;
  if (transports.empty()) return proved;
  const std::vector<std::string> uuids =
      comm::gather_texts(communicator, device::current_gpu().uuid);
  constexpr std::array<Pair, 2> kinds{Pair::same_node, Pair::other_node};
  std::vector<std::string> texts(transports.size() * kinds.size());
  comm::on_first_rank(communicator, [&] {
    const Variables variables = current_variables();
    const proof::ProofsAtHand at_hand =
        proof::proofs_at_hand(proof::proofs_file(file, variables), variables);
    const std::string library = comm::library_version();
    texts.clear();
    for (const transport::Transport* one : transports) {
      texts.push_back(
          packed(judge(at_hand, pairs_on_nodes(communicator, uuids), *one, memory, library)));
      texts.push_back(packed(judge(at_hand, {GpuPair::other_node}, *one, memory, library)));
    }
  });
  for (std::size_t i = 0; i < texts.size(); ++i)
    proved[transports[i / kinds.size()]][static_cast<std::size_t>(kinds[i % kinds.size()])] =
        unpacked(comm::broadcast(communicator, texts[i], 0));
  return proved;
}

}  // namespace halocline::exchange
