// SPDX-License-Identifier: Apache-2.0
#include "solver/recorded_sweeps.hpp"

namespace halocline::solver {
namespace {

// A graph of 64 sweeps takes the host some hundred KiB and the GPU as much.
constexpr std::size_t most_graphs = 16;
// To record a batch takes the host about 1 ms; a launch saves some 0.2 ms against queueing its
// sweeps one by one. Norms every so many sweeps may make as many kinds of batches as it takes until
// both meet again.
constexpr int fewest_uses = 4, batches_to_look_ahead = 64;

}  // namespace

RecordedSweeps::Kind RecordedSweeps::kind_of(const Case& the_case, std::int64_t first,
                                             std::int64_t count, std::size_t level) {
  Kind kind{.turn = first / count % 2, .level = level, .norms = {}};
  for (std::int64_t sweep = first - 1; sweep < first + count; ++sweep)
    kind.norms.push_back(sweep >= 0 && the_case.wants_norm(sweep));
  return kind;
}

bool RecordedSweeps::pays(const Case& the_case, const Kind& kind, std::int64_t first,
                          std::int64_t count) const {
  if (graphs_.contains(kind)) return true;
  if (graphs_.size() == most_graphs) return false;
  int uses = 0;
  for (int batch = 1; batch <= batches_to_look_ahead && uses < fewest_uses; ++batch) {
    const std::int64_t later = first + batch * count;
    if (later + count + the_case.halo_depth > the_case.sweeps) return false;
    if (kind_of(the_case, later, count, kind.level) == kind) ++uses;
  }
  return uses == fewest_uses;
}

void RecordedSweeps::run(const Kind& kind, Stream stream, const std::function<void()>& work) {
  auto graph = graphs_.find(kind);
  if (graph == graphs_.end())
    graph = graphs_.emplace(kind, device::Graph::record(stream, work)).first;
  clock_.time(stream, 0, [&] { graph->second.launch(stream); });
}

}  // namespace halocline::solver
