// SPDX-License-Identifier: Apache-2.0
#pragma once
// Batches of another stepper's sweeps, with their exchanges, recorded in CUDA graphs.

#include <map>
#include <tuple>
#include <vector>

#include <halocline/stream.hpp>

#include "base/recorder.hpp"
#include "device/graph.hpp"
#include "device/stream_clock.hpp"
#include "solver/stepper.hpp"

namespace halocline::solver {

/// Whether sweeps and exchanges that may be queued at once are recorded in CUDA graphs.
enum class Graphs {
  none,
  where_they_pay,  ///< where a graph is used often enough
  wherever_possible
};

/// For one run. Sweeps that fill no batch are left to the other stepper.
class GraphStepper final : public Stepper {
 public:
  /// The other stepper must outlive it.
  GraphStepper(Stepper& stepper, Graphs graphs, Stream stream, Recorder& recorder)
      : stepper_(stepper),
        graphs_(graphs),
        stream_(stream),
        clock_(recorder, Phase::compute, "sweeps and halos in a graph") {}

  void advance(Run& run, std::int64_t most) override;
  void check() override { stepper_.check(); }

 private:
  /// Batches of one kind give a stream the same work, so one graph does for all.
  struct Kind {
    std::int64_t turn;          ///< of the two places that batches leave their norms in
    std::size_t level;          ///< that the first sweep reads
    std::int64_t fresh_layers;  ///< of its halo
    std::vector<bool> norms;    ///< which sweeps have one, from the one before the first on
    friend bool operator==(const Kind&, const Kind&) = default;
    friend bool operator<(const Kind& a, const Kind& b) {
      return std::tie(a.turn, a.level, a.fresh_layers, a.norms) <
             std::tie(b.turn, b.level, b.fresh_layers, b.norms);
    }
  };
  static Kind kind_of(const Run& run, std::int64_t first, std::int64_t count);
  bool pays(const Run& run, const Kind& kind, std::int64_t count) const;
  const device::Graph& graph_of(const Kind& kind, const Run& run, std::int64_t count);

  Stepper& stepper_;
  Graphs graphs_;
  Stream stream_;
  device::StreamClock clock_;
  std::map<Kind, device::Graph> recorded_;
};

}  // namespace halocline::solver
