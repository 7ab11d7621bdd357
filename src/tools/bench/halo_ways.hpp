// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ways to move the halos of a solve without a transport, as other programs do. Only benchmarks can
// select them.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <halocline/communicator.hpp>
#include <halocline/memory.hpp>
#include <halocline/stream.hpp>

#include "solver/case.hpp"
#include "solver/engine/runner.hpp"
#include "solver/target.hpp"

namespace halocline::bench {

/// Fills the halos of a runner's levels. The runner must outlive it.
class HaloMover {
 public:
  virtual ~HaloMover() = default;
  HaloMover(const HaloMover&) = delete;
  HaloMover& operator=(const HaloMover&) = delete;
  /// Fills the halos of a level, in the order of `stream`. Records its time like the runner's
  /// exchanges. Collective.
  virtual void run(std::int64_t level, Stream stream) = 0;

  std::int64_t messages = 0, bytes = 0;  ///< of one run, from this rank to others
  std::int64_t pieces = 0;  ///< mapped into a level's messages; 0: messages are not mapped

 protected:
  HaloMover() = default;
};

/// A case and the ranks and memory of its halos.
struct WayPlace {
  const Communicator& communicator;
  const solver::Case& the_case;
  const solver::Target& target;
  const std::optional<std::string>& proofs;
};

struct HaloWay {
  const char* name;              ///< in --ways and in reports
  const char* text;              ///< description
  std::optional<Memory> memory;  ///< of fields on GPUs; nothing: any backend's usual memory
  /// Returns why it cannot move this layout and these cells, or nothing; the same on every rank.
  std::optional<std::string> (*why_not_cells)(const WayPlace& place);
  /// Returns why it cannot be used here, or nothing; the same on every rank. Collective.
  std::optional<std::string> (*why_not)(const WayPlace& place);
  /// Makes a mover for filled levels. Collective.
  std::unique_ptr<HaloMover> (*make)(solver::Runner& runner);
  /// Makes an object that must exist before and while the levels do; null: none needed.
  std::shared_ptr<void> (*prepare)(const solver::Target& target) = nullptr;
};

std::span<const HaloWay> halo_ways();
/// Appends a way, for programs with ways of their own.
void add_halo_way(const HaloWay& way);
/// Null for other names.
const HaloWay* find_halo_way(std::string_view name);
/// Throws usage, with all names, for a name that is neither a way nor a transport.
void check_way(const std::string& name);

/// A schedule that moves halos by a way, then sweeps. The mover must outlive the steppers.
class MovedSweeps final : public solver::Schedule {
 public:
  MovedSweeps(const HaloWay& way, HaloMover& mover) : way_(way), mover_(mover) {}
  std::string_view name() const override { return way_.name; }
  solver::MadeStepper make(solver::Runner& runner) const override;
  bool is_preferred(const solver::Runner&) const override { return false; }

 private:
  const HaloWay& way_;
  HaloMover& mover_;
};

// The rows of the table.
std::unique_ptr<HaloMover> move_whole_array(solver::Runner& runner);
std::unique_ptr<HaloMover> move_skin(solver::Runner& runner);
std::unique_ptr<HaloMover> pack_on_host(solver::Runner& runner);
std::unique_ptr<HaloMover> pack_prefetched(solver::Runner& runner);
std::optional<std::string> why_no_prefetch(const WayPlace& place);
std::unique_ptr<HaloMover> move_derived_types(solver::Runner& runner);
std::optional<std::string> why_not_derived_types(const WayPlace& place);

}  // namespace halocline::bench
