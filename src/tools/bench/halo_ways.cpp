// SPDX-License-Identifier: Apache-2.0
#include "bench/halo_ways.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <halocline/error.hpp>

#include "solver/engine/schedules/pass_stepper.hpp"
#include "transport/transport.hpp"

namespace halocline::bench {
namespace {

using transport::Transport;

std::optional<std::string> nothing_against(const WayPlace&) { return std::nullopt; }

std::optional<std::string> need_rows(const WayPlace& place) {
  if (place.the_case.brick.axes() > 0) return "MPI's subarrays describe rows";
  return std::nullopt;
}

class MovedStepper final : public solver::PassStepper {
 public:
  MovedStepper(solver::Runner& runner, HaloMover& mover) : PassStepper(runner), mover_(mover) {}

 private:
  void exchange_and_sweep(const solver::Step& step, Stream stream) override {
    mover_.run(step.level, stream);
    sweep_in_halo(step, stream);
  }

  HaloMover& mover_;
};

bool is_transport(const std::string& name) {
  const auto all = transport::transports();
  return name != "self" && std::any_of(all.begin(), all.end(),
                                       [&](const Transport* one) { return one->name() == name; });
}

std::vector<HaloWay>& table() {
  static std::vector<HaloWay> all{
      {"whole_array", "all of a field is copied to the host, packed there, and copied back",
       Memory::device, nothing_against, nothing_against, move_whole_array},
      {"skin_copies",
       "what neighbours need is copied to the host and packed there, the halo copied back",
       Memory::device, nothing_against, nothing_against, move_skin},
      {"pinned", "fields in the host's pinned memory; the host packs, GPUs sweep over the bus",
       Memory::pinned, nothing_against, nothing_against, pack_on_host},
      {"managed", "fields in managed memory, the GPU its home; the host packs, touched pages move",
       Memory::managed, nothing_against, nothing_against, pack_on_host},
      {"prefetched", "the same; pages are sent before, to the host to pack, to the GPU to sweep",
       Memory::managed, nothing_against, why_no_prefetch, pack_prefetched},
      {"derived_types", "MPI packs, by MPI_Type_create_subarray for each direction", std::nullopt,
       need_rows, why_not_derived_types, move_derived_types},
  };
  return all;
}

}  // namespace

std::span<const HaloWay> halo_ways() { return table(); }

void add_halo_way(const HaloWay& way) { table().push_back(way); }

const HaloWay* find_halo_way(std::string_view name) {
  for (const HaloWay& way : halo_ways())
    if (way.name == name) return &way;
  return nullptr;
}

void check_way(const std::string& name) {
  if (find_halo_way(name) != nullptr || is_transport(name)) return;
  std::vector<std::string_view> names;
  for (const Transport* one : transport::transports())
    if (one->name() != "self") names.push_back(one->name());
  for (const HaloWay& way : halo_ways()) names.emplace_back(way.name);
  throw Error(ErrorKind::usage,
              fmt::format("unknown way '{}'; choose from: {}", name, fmt::join(names, ", ")));
}

solver::MadeStepper MovedSweeps::make(solver::Runner& runner) const {
  return {.stepper = std::make_unique<MovedStepper>(runner, mover_)};
}

}  // namespace halocline::bench
