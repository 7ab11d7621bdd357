// SPDX-License-Identifier: Apache-2.0
#include "bench/usable_ways.hpp"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <halocline/solver.hpp>

#include "bench/combinations.hpp"
#include "device/gpu.hpp"
#include "transport/transport.hpp"

namespace halocline::bench {
namespace {

std::vector<std::string> transports_for_gpus() {
  std::vector<std::string> names;
  for (const transport::Transport* one : transport::transports())
    if (one->name() != "self" && one->unavailable(transport::Pair::same_node, Memory::host))
      names.emplace_back(one->name());
  return names;
}

class WaySearch {
 public:
  WaySearch(const Communicator& communicator, const WaysAsked& asked, Notes& notes)
      : communicator_(communicator), asked_(asked), target_(asked.target), notes_(notes) {}

  std::vector<UsableWay> run() {
    for (const std::string& name : asked_.names) {
      if (const HaloWay* own = find_halo_way(name))
        add_own(*own);
      else
        add_transport(name);
    }
    if (asked_.names.empty()) add_all();
    return std::move(ways_);
  }

 private:
  void add_transport(const std::string& name) {
    if (const auto why_not = serves_nobody_because(name)) return leave_out(name, *why_not);
    ways_.push_back({.name = name, .target = target_, .transport = name});
  }

  /// Names such as "same-node=peer" are left to the exchange.
  std::optional<std::string> serves_nobody_because(const std::string& name) const {
    std::optional<std::string> why_not;
    if (name == "auto" || name.find('=') != std::string::npos) return why_not;
    for (const transport::Pair pair : pairs_between_ranks(communicator_)) {
      why_not = transport::find_transport(name).unavailable(pair, target_->memory);
      if (!why_not) break;
    }
    return why_not;
  }

  void leave_out(const std::string& name, const std::string& why) {
    notes_.add(fmt::format("way {} is left out: {}", name, why));
  }

  void add_all() {
    const std::vector<Combination> found =
        find_ways(communicator_,
                  {.memories = {std::string(name_of(target_->memory))},
                   .transports = {},
                   .proofs = asked_.proofs},
                  notes_);
    for (const HaloWay& way : halo_ways())
      if (!way.memory || target_->gpu) add_own(way);
    for (const std::string& transport : found[0].transports) add_transport(transport);
    if (!target_->gpu) note_ways_for_gpus();
  }

  /// With GPUs, find_ways() adds the notes about transports.
  void note_ways_for_gpus() {
    std::vector<std::string> names;
    if (device::gpus().list.empty()) names = transports_for_gpus();
    for (const HaloWay& way : halo_ways())
      if (way.memory) names.emplace_back(way.name);
    notes_.add(fmt::format("ways for GPUs are left out, since the backend is {}: {}",
                           target_->backend->name(), fmt::join(names, ", ")));
  }

  void add_own(const HaloWay& way) {
    std::optional<std::string> why_not;
    if (way.memory && !target_->gpu)
      why_not = fmt::format("it is for GPUs, and the backend is {}", target_->backend->name());
    else
      why_not = way.why_not({communicator_, asked_.the_case, *target_, asked_.proofs});
    if (why_not) return leave_out(way.name, *why_not);
    const std::shared_ptr<const solver::Target> target = target_for(way);
    // The runner's own exchange is used only if the host packs.
    ways_.push_back({.name = way.name,
                     .own = &way,
                     .target = target,
                     .transport = host_reads(target->memory) ? "mpi" : "staged"});
  }

  std::shared_ptr<const solver::Target> target_for(const HaloWay& way) {
    if (!way.memory || *way.memory == target_->memory) return target_;
    SolveOptions where;
    where.backend = target_->backend->name();
    where.memory = way.memory;
    return std::make_shared<const solver::Target>(
        solver::choose_target(communicator_, where, notes_));
  }

  const Communicator& communicator_;
  const WaysAsked& asked_;
  std::shared_ptr<const solver::Target> target_;
  Notes& notes_;
  std::vector<UsableWay> ways_;
};

}  // namespace

std::vector<UsableWay> usable_ways(const Communicator& communicator, const WaysAsked& asked,
                                   Notes& notes) {
  return WaySearch(communicator, asked, notes).run();
}

}  // namespace halocline::bench
