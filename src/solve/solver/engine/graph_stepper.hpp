// SPDX-License-Identifier: Apache-2.0
#pragma once
// CUDA graphs that record batches of another stepper's sweeps and exchanges.

#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include <halocline/stream.hpp>

#include "base/recorder.hpp"
#include "device/graph.hpp"
#include "device/stream_clock.hpp"
#include "solver/engine/stepper.hpp"

namespace halocline::solver {

/// Where to record batches of sweeps and exchanges in CUDA graphs.
enum class Graphs {
  none,
  where_they_pay,  ///< where a run uses a graph often enough
  wherever_possible
};

/// Replays batches as CUDA graphs, for one run. The other stepper queues sweeps that fill no batch.
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
  /// Batches of one key queue the same work, so that one graph serves all.
  struct GraphKey {
    std::int64_t turn;          ///< which of two buffers gets the norms of the batch
    std::size_t level;          ///< input of the first sweep
    std::int64_t fresh_layers;  ///< of the halo of that level
    std::vector<bool> norms;    ///< whether a sweep has a norm, from the one before the batch on
    friend bool operator==(const GraphKey&, const GraphKey&) = default;
    friend bool operator<(const GraphKey& a, const GraphKey& b) {
      return std::tie(a.turn, a.level, a.fresh_layers, a.norms) <
             std::tie(b.turn, b.level, b.fresh_layers, b.norms);
    }
  };
  static GraphKey key_of(const Run& run, std::int64_t first, std::int64_t count);
  bool pays(const Run& run, const GraphKey& key, std::int64_t count) const;
  struct Recorded {
    device::Graph graph;
    std::vector<Held> passes;  ///< with sweeps counted from the batch's first
    std::int64_t sweeps_in_passes;
  };
  const Recorded& recorded(const GraphKey& key, const Run& run, std::int64_t count);
  void send_first_sweep(std::int64_t first, std::int64_t turn);

  Stepper& stepper_;
  Graphs graphs_;
  Stream stream_;
  device::StreamClock clock_;
  std::map<GraphKey, Recorded> recorded_;
  // The number of a launch's first sweep, in device memory and for each turn in pinned; null where
  // no kernel asks for the time.
  std::shared_ptr<void> first_sweep_, on_host_;
};

}  // namespace halocline::solver
