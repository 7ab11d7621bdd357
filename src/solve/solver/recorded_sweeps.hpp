// SPDX-License-Identifier: Apache-2.0
#pragma once
// Batches of sweeps, with their exchanges, recorded in CUDA graphs.

#include <functional>
#include <map>
#include <tuple>
#include <vector>

#include "device/graph.hpp"
#include "device/stream_clock.hpp"
#include "solver/case.hpp"

namespace halocline::solver {

/// Batches of one kind give a stream the same work, so one graph does for all.
class RecordedSweeps {
 public:
  struct Kind {
    std::int64_t turn;        ///< of the two places that batches leave their norms in
    std::size_t level;        ///< that the first sweep reads
    std::vector<bool> norms;  ///< which sweeps have one, from the one before the first on
    friend bool operator==(const Kind&, const Kind&) = default;
    friend bool operator<(const Kind& a, const Kind& b) {
      return std::tie(a.turn, a.level, a.norms) < std::tie(b.turn, b.level, b.norms);
    }
  };

  explicit RecordedSweeps(Recorder& recorder)
      : clock_(recorder, Phase::compute, "sweeps and halos in a graph") {}

  static Kind kind_of(const Case& the_case, std::int64_t first, std::int64_t count,
                      std::size_t level);

  /// Whether such a batch is recorded, or there will be another one: recording takes as long as
  /// queueing it once or twice.
  bool pays(const Case& the_case, const Kind& kind, std::int64_t first, std::int64_t count) const;

  /// Queues the batch. `work` gives its sweeps to the stream; called the first time only.
  void run(const Kind& kind, Stream stream, const std::function<void()>& work);

 private:
  device::StreamClock clock_;
  std::map<Kind, device::Graph> graphs_;
};

}  // namespace halocline::solver
