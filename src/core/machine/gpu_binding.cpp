// SPDX-License-Identifier: Apache-2.0
#include "machine/gpu_binding.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <halocline/error.hpp>
#include <halocline/gpu.hpp>

#include "base/text/notes.hpp"
#include "base/text/words.hpp"
#include "comm/collectives.hpp"
#include "machine/cores.hpp"
#include "machine/matching.hpp"

namespace halocline::machine {
namespace {

using Facts = std::vector<RankFacts>;
using Indices = std::vector<std::size_t>;  // into Facts

// ------------------------------------------------------------------------------------- matching

bool usable(const VisibleGpu& visible) {
  return visible.gpu.mode != device::ComputeMode::prohibited;
}

/// Returns a rank's first entry for a usable GPU with this UUID; null if there is none.
const VisibleGpu* seen_by(const RankFacts& facts, const std::string& uuid) {
  for (const VisibleGpu& visible : facts.visible)
    if (visible.gpu.uuid == uuid && usable(visible)) return &visible;
  return nullptr;
}

/// Returns the part of a rank's cores that is not near a GPU, in sixteenths rounded down.
std::int64_t distance(const RankFacts& facts, const VisibleGpu& visible) {
  if (facts.all_cores || facts.cores.empty() || visible.near_cores.empty()) return 0;
  const auto far = std::count_if(facts.cores.begin(), facts.cores.end(), [&](int core) {
    return !std::binary_search(visible.near_cores.begin(), visible.near_cores.end(), core);
  });
  return 16 * far / static_cast<std::int64_t>(facts.cores.size());
}

constexpr std::int64_t wholly_far = 16;

/// Ranks connected by GPUs that several of them see, and these GPUs in the order in which the ranks
/// list them. Usually the ranks of a node. Not grouped by node, so that nodes that a test simulates
/// on one machine (comm::Settings::ranks_per_node) do not count a GPU twice.
struct Group {
  Indices ranks;
  std::vector<std::string> uuids;
};

std::vector<Group> groups_of(const Facts& all) {
  Indices parent(all.size());
  std::iota(parent.begin(), parent.end(), std::size_t{0});
  const auto root = [&](std::size_t rank) {
    while (parent[rank] != rank) rank = parent[rank] = parent[parent[rank]];
    return rank;
  };
  std::map<std::string, std::size_t> first_viewer;
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    for (const VisibleGpu& visible : all[rank].visible) {
      if (!usable(visible)) continue;
      const auto [viewer, is_new] = first_viewer.emplace(visible.gpu.uuid, rank);
      if (is_new) continue;
      const auto [low, high] = std::minmax({root(rank), root(viewer->second)});
      parent[high] = low;
    }

  std::map<std::size_t, Group> groups;  // by lowest rank
  std::set<std::string> listed;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    Group& group = groups[root(rank)];
    group.ranks.push_back(rank);
    for (const VisibleGpu& visible : all[rank].visible)
      if (usable(visible) && listed.insert(visible.gpu.uuid).second)
        group.uuids.push_back(visible.gpu.uuid);
  }
  std::vector<Group> result;
  for (auto& [lowest, group] : groups) result.push_back(std::move(group));
  return result;
}

/// Returns the cost of each GPU for each rank of a group: distance first, then rank order. The
/// square keeps displaced ranks in order.
std::vector<std::vector<std::int64_t>> costs_in(const Facts& all, const Group& group) {
  const auto ranks = static_cast<std::int64_t>(group.ranks.size());
  const auto gpus = static_cast<std::int64_t>(group.uuids.size());
  const std::int64_t per_sixteenth = ranks * gpus * gpus + 1;
  std::vector<std::vector<std::int64_t>> costs;
  for (std::int64_t i = 0; i < ranks; ++i) {
    const RankFacts& facts = all[group.ranks[static_cast<std::size_t>(i)]];
    const std::int64_t wanted = ranks <= gpus ? i : i * gpus / ranks;
    std::vector<std::int64_t>& of_rank = costs.emplace_back();
    for (std::int64_t place = 0; place < gpus; ++place) {
      const VisibleGpu* visible = seen_by(facts, group.uuids[static_cast<std::size_t>(place)]);
      const std::int64_t out_of_order = (place - wanted) * (place - wanted);
      of_rank.push_back(visible ? distance(facts, *visible) * per_sixteenth + out_of_order
                                : unreachable);
    }
  }
  return costs;
}

// ---------------------------------------------------------------------------------------- words

std::string ranks_text(const Facts& all, const Indices& ranks) {
  std::vector<int> numbers;
  for (const std::size_t rank : ranks) numbers.push_back(all[rank].rank);
  if (numbers.size() == 1) return fmt::format("rank {}", numbers[0]);
  if (numbers.size() == 2) return fmt::format("ranks {} and {}", numbers[0], numbers[1]);
  return "ranks " + ranges_of(numbers);
}

std::string node_text(const RankFacts& facts) {
  return fmt::format("node {}", facts.node) +
         (facts.host.empty() ? "" : fmt::format(" ({})", facts.host));
}

std::string prohibition_of(const std::string& uuid) {
  return fmt::format(
      "the compute mode of {} prohibits its use ('nvidia-smi -i {} -c DEFAULT' changes it)", uuid,
      uuid);
}

/// Notes of one kind. A large job has hundreds that differ in numbers only: the first two are
/// written in full, the others counted.
class Remarks {
 public:
  explicit Remarks(const Facts& all) : all_(all) {}

  void add(Indices ranks, std::string text) {
    if (!ranks.empty()) list_.push_back({std::move(ranks), std::move(text)});
  }

  void give_to(std::vector<Binding>& bindings) const {
    constexpr std::size_t spelled_out = 2;
    const std::size_t shown = list_.size() <= spelled_out + 1 ? list_.size() : spelled_out;
    for (std::size_t i = 0; i < shown; ++i)
      bindings[list_[i].ranks.front()].notes.push_back(list_[i].text);
    std::set<std::size_t> others;
    for (std::size_t i = shown; i < list_.size(); ++i)
      others.insert(list_[i].ranks.begin(), list_[i].ranks.end());
    if (!others.empty())
      bindings[*others.begin()].notes.push_back(
          fmt::format("the same applies to {} ({} more notes)",
                      ranks_text(all_, {others.begin(), others.end()}), list_.size() - shown));
  }

 private:
  struct Remark {
    Indices ranks;
    std::string text;
  };
  const Facts& all_;
  std::vector<Remark> list_;
};

/// Throws if a rank has no usable GPU.
void require_gpus(const Facts& all) {
  Indices blind;
  const RankFacts* seeing = nullptr;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const bool sees = std::any_of(all[rank].visible.begin(), all[rank].visible.end(), usable);
    if (!sees) blind.push_back(rank);
    if (sees && !seeing) seeing = &all[rank];
  }
  if (blind.empty()) return;

  const RankFacts& facts = all[blind.front()];
  const std::string why =
      facts.visible.empty() ? facts.none_because : prohibition_of(facts.visible.front().gpu.uuid);
  if (!seeing)
    throw Error(ErrorKind::unavailable,
                why.empty() ? "no rank sees a GPU; run on the host (option 'backend' set to 'cpu')"
                            : fmt::format("no rank sees a GPU it can use: {}", why));

  const auto value = [](const RankFacts& of) {
    return of.visible_devices ? fmt::format("'{}'", *of.visible_devices) : "not set";
  };
  const Indices others(blind.begin() + 1, blind.end());
  throw Error(
      ErrorKind::unavailable,
      fmt::format("rank {} on {} sees no GPU it can use{}{}, while rank {} on {} does; "
                  "CUDA_VISIBLE_DEVICES is {} on rank {} and {} on rank {}; show every rank a GPU "
                  "(srun --gpus-per-task=1) or all those of its node (srun --gpu-bind=none), or "
                  "run on the host (option 'backend' set to 'cpu')",
                  facts.rank, node_text(facts),
                  others.empty() ? ""
                                 : fmt::format(" (nor {} {})", others.size() == 1 ? "does" : "do",
                                               ranks_text(all, others)),
                  why.empty() ? "" : fmt::format(" ({})", why), seeing->rank, node_text(*seeing),
                  value(facts), facts.rank, value(*seeing), seeing->rank));
}

void note_odd_lists(const Facts& all, std::vector<Binding>& bindings) {
  Remarks twice(all), prohibited(all);
  std::set<std::string> told;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    std::map<std::string, std::vector<int>> ordinals;
    for (const VisibleGpu& visible : all[rank].visible) {
      ordinals[visible.gpu.uuid].push_back(visible.gpu.ordinal);
      if (!usable(visible) && told.insert(visible.gpu.uuid).second)
        prohibited.add({rank}, fmt::format("a GPU of {} is not used: {}", node_text(all[rank]),
                                           prohibition_of(visible.gpu.uuid)));
    }
    for (const auto& [uuid, numbers] : ordinals)
      if (numbers.size() > 1)
        twice.add({rank}, fmt::format("rank {} sees {} more than once, as devices {}; Halocline "
                                      "counts it once (CUDA_VISIBLE_DEVICES: {})",
                                      all[rank].rank, uuid, fmt::join(numbers, " and "),
                                      all[rank].visible_devices.value_or("not set")));
  }
  twice.give_to(bindings);
  prohibited.give_to(bindings);
}

std::string mps_text(const Facts& all, const Indices& sharing) {
  Indices without;
  for (const std::size_t rank : sharing)
    if (!all[rank].under_mps) without.push_back(rank);
  if (without.empty()) return " under MPS, so their kernels run side by side";
  if (without.size() == sharing.size()) return " without MPS, so their kernels take turns";
  return fmt::format(", but {} without MPS, so their kernels take turns", ranks_text(all, without));
}

void note_sharing(const Facts& all, const std::vector<Group>& groups,
                  std::vector<Binding>& bindings) {
  Remarks shared(all);
  for (const Group& group : groups) {
    std::map<std::string, Indices> users;
    for (const std::size_t rank : group.ranks) users[bindings[rank].uuid].push_back(rank);
    Indices sharing;
    std::vector<std::string> parts;
    for (const std::string& uuid : group.uuids) {
      const Indices& ranks = users[uuid];
      if (ranks.size() < 2) continue;
      sharing.insert(sharing.end(), ranks.begin(), ranks.end());
      parts.push_back(fmt::format("{} share {}", ranks_text(all, ranks), uuid));
    }
    std::sort(sharing.begin(), sharing.end());
    if (!parts.empty())
      shared.add(sharing, fmt::format("{} ({}, {} visible){}", fmt::join(parts, ", "),
                                      counted(group.ranks.size(), "rank"),
                                      counted(group.uuids.size(), "GPU"), mps_text(all, sharing)));
  }
  shared.give_to(bindings);
}

void note_idle(const Facts& all, std::vector<Binding>& bindings) {
  std::set<std::string> used;
  for (const Binding& binding : bindings) used.insert(binding.uuid);
  std::map<int, Indices> nodes;
  for (std::size_t rank = 0; rank < all.size(); ++rank) nodes[all[rank].node].push_back(rank);

  Remarks idle(all);
  for (const auto& [node, ranks] : nodes) {
    std::set<std::string> visible, in_use;
    for (const std::size_t rank : ranks)
      for (const VisibleGpu& gpu : all[rank].visible)
        if (usable(gpu)) visible.insert(gpu.gpu.uuid);
    std::set_intersection(visible.begin(), visible.end(), used.begin(), used.end(),
                          std::inserter(in_use, in_use.end()));
    if (visible.size() == in_use.size()) continue;
    const bool sharing = std::any_of(ranks.begin(), ranks.end(), [&](std::size_t rank) {
      return bindings[rank].ranks_on_gpu > 1;
    });
    const std::size_t count = in_use.size();
    const std::string who =
        sharing
            ? fmt::format("{} of them {} used: the ranks that share a GPU do not see the free ones",
                          count, count == 1 ? "is" : "are")
            : fmt::format("{} {} them", counted(count, "rank"), count == 1 ? "uses one of" : "use");
    idle.add(ranks, fmt::format("{} are visible on {}, but only {}", counted(visible.size(), "GPU"),
                                node_text(all[ranks.front()]), who));
  }
  idle.give_to(bindings);
}

void note_models(const Facts& all, std::vector<Binding>& bindings) {
  std::map<std::string, Indices> ranks_of;
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    ranks_of[seen_by(all[rank], bindings[rank].uuid)->gpu.name].push_back(rank);
  if (ranks_of.size() < 2) return;
  std::vector<std::string> parts;
  for (const auto& [name, ranks] : ranks_of)
    parts.push_back(fmt::format("{} ({})", name, ranks_text(all, ranks)));
  bindings.front().notes.push_back(fmt::format(
      "the ranks use GPUs of different models, and the slowest determines the speed: {}",
      fmt::join(parts, ", ")));
}

void note_far(const Facts& all, std::vector<Binding>& bindings) {
  Remarks far(all);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const VisibleGpu& visible = *seen_by(all[rank], bindings[rank].uuid);
    if (distance(all[rank], visible) == wholly_far)
      far.add({rank}, fmt::format("rank {} may run on cores {}, all of them far from its {} (near "
                                  "it: {})",
                                  all[rank].rank, ranges_of(all[rank].cores), visible.gpu.uuid,
                                  ranges_of(visible.near_cores)));
  }
  far.give_to(bindings);
}

}  // namespace

std::vector<Binding> bind_ranks(const std::vector<RankFacts>& all) {
  require_gpus(all);
  std::vector<Binding> bindings(all.size());
  std::map<std::string, int> load;
  const std::vector<Group> groups = groups_of(all);
  for (const Group& group : groups) {
    const std::vector<std::size_t> places = match(costs_in(all, group));
    for (std::size_t i = 0; i < places.size(); ++i) {
      Binding& binding = bindings[group.ranks[i]];
      binding.uuid = group.uuids[places[i]];
      binding.ordinal = seen_by(all[group.ranks[i]], binding.uuid)->gpu.ordinal;
      ++load[binding.uuid];
    }
  }
  for (Binding& binding : bindings) binding.ranks_on_gpu = load[binding.uuid];

  if (all.empty()) return bindings;
  note_odd_lists(all, bindings);
  note_sharing(all, groups, bindings);
  note_idle(all, bindings);
  note_models(all, bindings);
  note_far(all, bindings);
  return bindings;
}

GpuBinding bind_gpu(const Communicator& communicator) {
  const Facts all = gather_facts(communicator);
  const std::vector<Binding> bindings = bind_ranks(all);

  GpuBinding result;
  Notes notes;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const RankFacts& facts = all[rank];
    const Binding& binding = bindings[rank];
    const device::Gpu& gpu = seen_by(facts, binding.uuid)->gpu;
    for (const std::string& note : binding.notes) notes.add(note);
    result.map.push_back({facts.rank, facts.node, facts.host, gpu.uuid, gpu.name, gpu.pci,
                          gpu.ordinal, ranges_of(facts.cores), binding.ranks_on_gpu});
    if (facts.rank != communicator.rank()) continue;
    result.gpu = gpu;
    result.ranks_on_gpu = binding.ranks_on_gpu;
  }
  result.notes = notes.all();
  comm::together(communicator, [&] { device::use(result.gpu); });
  return result;
}

}  // namespace halocline::machine

namespace halocline {

GpuChoice bind_gpu(const Communicator& communicator) {
  machine::GpuBinding binding = machine::bind_gpu(communicator);
  return {.ordinal = binding.gpu.ordinal,
          .uuid = binding.gpu.uuid,
          .name = binding.gpu.name,
          .ranks_on_gpu = binding.ranks_on_gpu,
          .notes = std::move(binding.notes)};
}

}  // namespace halocline
