// SPDX-License-Identifier: Apache-2.0
// Halos of a solve by derived datatypes of MPI, the rival of bench halo.

#include <memory>
#include <vector>

#include "base/recorder.hpp"
#include "bench/halo_ways.hpp"
#include "bench/rivals.hpp"
#include "comm/collectives.hpp"
#include "link/wait_for.hpp"

namespace halocline::bench {
namespace {

class TypedHalos final : public HaloMover {
 public:
  explicit TypedHalos(solver::Runner& runner) : runner_(runner) {
    const solver::Case& the_case = runner.the_case();
    const RivalPlace place{runner.communicator(), runner.exchange_grid(), runner.target().memory,
                           runner.proofs()};
    for (const solver::Level& level : runner.levels()) {
      FieldList fields;
      for (const std::size_t f : the_case.exchanged_fields()) fields.emplace_back(level[f]);
      exchanges_.push_back(make_derived_types(place, fields, the_case.neighbours()));
    }
    messages = exchanges_[0]->messages;
    bytes = exchanges_[0]->bytes;
  }

  /// All of it is a wait: MPI does not tell packing from sending.
  void run(std::int64_t level, Stream stream) override {
    link::wait_for(runner_.communicator(), stream);
    const Span span(comm::recorder(runner_.communicator()), Phase::wait, "derived datatypes",
                    bytes);
    exchanges_[static_cast<std::size_t>(level)]->run();
  }

 private:
  solver::Runner& runner_;
  std::vector<std::unique_ptr<RivalExchange>> exchanges_;  // of each level
};

}  // namespace

std::unique_ptr<HaloMover> move_derived_types(solver::Runner& runner) {
  return std::make_unique<TypedHalos>(runner);
}

std::optional<std::string> why_not_derived_types(const WayPlace& place) {
  const Grid grid(place.communicator, place.the_case.grid);
  return why_no_derived_types({place.communicator, grid, place.target.memory, place.proofs});
}

}  // namespace halocline::bench
