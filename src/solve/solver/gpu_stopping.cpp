// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/waiting.hpp"
#include "device/buffer.hpp"
#include "device/queue.hpp"
#include "solver/batch.hpp"
#include "solver/stopping.hpp"

namespace halocline::solver {
namespace {

// The norm of a sweep is reduced while the next one runs.
constexpr std::int64_t lag = 1;

class GpuStopping final : public Stopping {
 public:
  GpuStopping(const GpuStoppingParts& parts, const RunState& start)
      : Stopping(parts.the_case, start),
        parts_(parts),
        batch_sweeps_(batch_sweeps_of(parts.the_case)),
        sent_(first() / batch_sweeps_),
        words_(device::allocate(Memory::device, static_cast<std::int64_t>(sizeof(Words)))) {
    for (auto& of_sweep : norm_parts_)
      of_sweep = device::allocate(Memory::device, stencil::bytes_of_norm_parts);
    for (Batch& batch : batches_)
      batch.on_host = device::allocate(Memory::pinned,
                                       batch_sweeps_ * static_cast<std::int64_t>(sizeof(double)));
  }

  void begin(std::int64_t sweep, stencil::SweepArguments& arguments, Stream) override {
    arguments.stop = &words().stop;
    if (has_norm(sweep)) arguments.norm_parts = norm_parts_of(sweep);
    if (has_norm(sweep - lag)) arguments.reduction = reduction_in(sweep);
  }

  void end(std::int64_t, Stream) override {}

  void begin_batch(std::int64_t first, stencil::SweepBatch& batch) override {
    const std::int64_t last = first + batch.count - 1;
    batch.norm = the_case().norm;
    batch.norm_every = the_case().norm_every;
    batch.first_norm = (batch.norm_every - first % batch.norm_every) % batch.norm_every;
    batch.reduction = reduction_in(first);
    if (!has_norm(first - lag)) batch.reduction.parts = nullptr;
    if (has_norm(last)) batch.norm_parts = norm_parts_of(last);
  }

  std::int64_t batch_sweeps() const override { return batch_sweeps_; }

  bool stops_before(std::int64_t sweep) override {
    if (sweep % batch_sweeps_ == 0 && sweep > first()) {
      send(sweep / batch_sweeps_ - 1);
      // Before a batch is written over, its norms of the time before are looked at.
      look_at(sweep / batch_sweeps_ - 2, sweep);
    }
    return stopping_sweep_.has_value();
  }

  std::int64_t finish(std::int64_t sweeps) override {
    if (has_norm(sweeps - 1)) parts_.sweep.reduce(reduction_in(sweeps - 1 + lag), parts_.stream);
    const std::int64_t last = (sweeps - 1 + lag) / batch_sweeps_;
    for (std::int64_t batch = sent_; batch <= last; ++batch) {
      // One more than there is room for, where the last sweep begins a batch.
      look_at(batch - 2, sweeps);
      send(batch);
    }
    for (std::int64_t batch = last - 1; batch <= last; ++batch) look_at(batch, sweeps);
    return stopping_sweep_ ? *stopping_sweep_ + 1 : sweeps;
  }

 private:
  /// In device memory. A norm stands where the sweep that reduces it has its place.
  struct Words {
    double norms[2][most_batch_sweeps];
    unsigned stop;
  };
  struct Batch {
    std::shared_ptr<void> on_host;  // its norms
    device::Event arrived;
    bool is_sent = false;
  };

  static std::size_t index_of(std::int64_t batch) { return static_cast<std::size_t>(batch % 2); }
  // An address only: the memory is the GPU's.
  Words& words() const { return *static_cast<Words*>(words_.get()); }

  stencil::NormParts* norm_parts_of(std::int64_t sweep) const {
    return static_cast<stencil::NormParts*>(norm_parts_[static_cast<std::size_t>(sweep % 2)].get());
  }

  /// The norm that is reduced in a sweep.
  stencil::NormReduction reduction_in(std::int64_t sweep) const {
    return {.parts = norm_parts_of(sweep - lag),
            .kind = the_case().norm,
            .norm = &words().norms[index_of(sweep / batch_sweeps_)][sweep % batch_sweeps_],
            .stop = &words().stop,
            .tolerance = the_case().tolerance.value_or(-1),
            .all_reduce = parts_.all_reduce};
  }

  void send(std::int64_t number) {
    Batch& batch = batches_[index_of(number)];
    device::copy(batch.on_host.get(), words().norms[index_of(number)],
                 batch_sweeps_ * static_cast<std::int64_t>(sizeof(double)), parts_.stream);
    batch.arrived.record(parts_.stream);
    batch.is_sent = true;
    sent_ = number + 1;
  }

  /// Enters the norms of a batch, of the `sweeps` that have been begun.
  void look_at(std::int64_t number, std::int64_t sweeps) {
    if (number < 0 || !batches_[index_of(number)].is_sent) return;
    Batch& batch = batches_[index_of(number)];
    batch.is_sent = false;
    comm::wait_until(parts_.communicator.state(),
                     {.site = "sweeps on the GPU",
                      .phase = Phase::other,  // the GPU's own clock books them as compute
                      .missing = [] { return std::string("its own GPU to do the sweeps queued"); }},
                     [&] { return batch.arrived.reached(); });
    const auto* norms = static_cast<const double*>(batch.on_host.get());
    for (std::int64_t i = 0; i < batch_sweeps_ && !stopping_sweep_; ++i) {
      const std::int64_t sweep = number * batch_sweeps_ + i - lag;
      if (sweep < sweeps && has_norm(sweep) && enter(sweep, norms[i])) stopping_sweep_ = sweep;
    }
  }

  GpuStoppingParts parts_;
  std::int64_t batch_sweeps_;
  std::int64_t sent_;  // batches, those before the run among them
  std::shared_ptr<void> words_;
  std::array<std::shared_ptr<void>, 2> norm_parts_;  // of even and of odd sweeps
  std::array<Batch, 2> batches_;
  std::optional<std::int64_t> stopping_sweep_;
};

}  // namespace

std::unique_ptr<Stopping> make_gpu_stopping(const GpuStoppingParts& parts, const RunState& start) {
  return std::make_unique<GpuStopping>(parts, start);
}

}  // namespace halocline::solver
