// SPDX-License-Identifier: Apache-2.0
#include "solver/engine/graph_stepper.hpp"

#include <utility>

#include "device/buffer.hpp"
#include "device/queue.hpp"
#include "solver/engine/batch.hpp"
#include "solver/engine/stopping.hpp"

namespace halocline::solver {
namespace {

// A graph of 64 sweeps takes some hundred KiB on the host and as much on the GPU.
constexpr std::size_t most_graphs = 16;
// The host takes about 1 ms to record a batch; a launch saves some 0.2 ms against queueing its
// sweeps one by one. If the interval of norms does not divide a batch, kinds of batches repeat only
// after the least common multiple of both.
constexpr int fewest_uses = 4, batches_to_look_ahead = 64;

/// Whether such a batch ends with the same level and halo depth as it began, so that the next one
/// can have the same key. Excludes the last sweeps of a run, whose regions shrink.
bool recurs(const Run& run, std::int64_t first, std::int64_t count) {
  const Case& the_case = run.the_case;
  return count > 1 && count % period_of(the_case, run.sweeps_per_pass) == 0 &&
         first + count + the_case.halo_depth <= the_case.sweeps;
}

}  // namespace

GraphStepper::GraphKey GraphStepper::key_of(const Run& run, std::int64_t first,
                                            std::int64_t count) {
  GraphKey key{.turn = first / count % 2,
               .level = run.at.level,
               .fresh_layers = run.at.fresh_layers,
               .norms = {}};
  for (std::int64_t sweep = first - 1; sweep < first + count; ++sweep)
    key.norms.push_back(sweep >= run.first && run.the_case.wants_norm(sweep));
  return key;
}

/// Whether a graph of this kind exists, or enough such batches follow: recording takes as long as
/// queueing the batch once or twice.
bool GraphStepper::pays(const Run& run, const GraphKey& key, std::int64_t count) const {
  if (recorded_.contains(key)) return true;
  if (recorded_.size() == most_graphs) return false;
  int uses = 0;
  for (int batch = 1; batch <= batches_to_look_ahead && uses < fewest_uses; ++batch) {
    const std::int64_t later = run.at.sweep + batch * count;
    if (!recurs(run, later, count)) return false;
    if (key_of(run, later, count) == key) ++uses;
  }
  return uses == fewest_uses;
}

const GraphStepper::Recorded& GraphStepper::recorded(const GraphKey& key, const Run& run,
                                                     std::int64_t count) {
  auto graph = recorded_.find(key);
  if (graph == recorded_.end()) {
    const std::int64_t end = run.at.sweep + count;
    Run copy = run;
    copy.graph_first = first_sweep_ ? static_cast<const long long*>(first_sweep_.get()) : nullptr;
    copy.recorded_first = run.at.sweep;
    copy.held.clear();
    const auto queue_batch = [&] {
      while (copy.at.sweep < end) stepper_.advance(copy, end - copy.at.sweep);
    };
    device::Graph queued = device::Graph::record(stream_, queue_batch);
    for (Held& pass : copy.held) pass.sweeps -= run.at.sweep;
    graph = recorded_
                .emplace(key, Recorded{std::move(queued), std::move(copy.held),
                                       copy.sweeps_in_passes - run.sweeps_in_passes})
                .first;
  }
  return graph->second;
}

/// Gives the next launch the number of its first sweep. The host is at most two batches ahead, so
/// the GPU has read the number of the last batch of this turn.
void GraphStepper::send_first_sweep(std::int64_t first, std::int64_t turn) {
  constexpr auto bytes = static_cast<std::int64_t>(sizeof(long long));
  if (!first_sweep_) {
    first_sweep_ = device::allocate(Memory::device, bytes);
    on_host_ = device::allocate(Memory::pinned, 2 * bytes);
  }
  long long& mine = static_cast<long long*>(on_host_.get())[turn];
  mine = first;
  device::copy(first_sweep_.get(), &mine, bytes, stream_);
}

void GraphStepper::advance(Run& run, std::int64_t most) {
  const std::int64_t count = run.stopping.batch_sweeps();
  if (most != count || !recurs(run, run.at.sweep, count)) return stepper_.advance(run, most);
  const GraphKey key = key_of(run, run.at.sweep, count);
  if (graphs_ == Graphs::where_they_pay && !pays(run, key, count))
    return stepper_.advance(run, most);
  if (run.the_case.model->depends_on_time()) send_first_sweep(run.at.sweep, key.turn);
  const Recorded& batch = recorded(key, run, count);
  clock_.time(stream_, 0, [&] { batch.graph.launch(stream_); });
  const std::int64_t first = run.at.sweep;
  for (const Held& pass : batch.passes)
    run.finish_pass(first + pass.sweeps - run.at.sweep, pass.level, pass.ends_early);
  run.sweeps_in_passes += batch.sweeps_in_passes;
  run.sweeps_in_graphs += count;
}

}  // namespace halocline::solver
