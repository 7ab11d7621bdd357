// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bitset>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/waiting.hpp"
#include "device/buffer.hpp"
#include "device/queue.hpp"
#include "link/wait_for.hpp"
#include "solver/engine/batch.hpp"
#include "solver/engine/stopping.hpp"

namespace halocline::solver {
namespace {

class GpuStopping final : public Stopping {
 public:
  GpuStopping(const GpuStoppingParts& parts, const RunState& start)
      : Stopping(parts.the_case, start),
        parts_(parts),
        lag_(parts.sweeps_per_pass > 1 ? 0 : 1),
        batch_sweeps_(batch_sweeps_of(parts.the_case, parts.sweeps_per_pass)),
        sent_(first() / batch_sweeps_),
        on_device_(
            device::allocate(Memory::device, static_cast<std::int64_t>(sizeof(DeviceState)))) {
    if (parts.gather != nullptr) branch_.emplace();
    const std::int64_t of_pass = stencil::most_sweeps_of_pass * stencil::bytes_of_pass_norms;
    for (auto& of_sweep : partial_norms_)
      of_sweep = device::allocate(
          Memory::device,
          std::max<std::int64_t>(lag_ > 0 ? 0 : of_pass, stencil::bytes_of_partial_norms));
    for (Batch& batch : batches_)
      batch.on_host = device::allocate(Memory::pinned,
                                       batch_sweeps_ * static_cast<std::int64_t>(sizeof(double)));
  }

  void begin(stencil::Pass& pass, Stream stream) override {
    const std::int64_t first = pass.first_sweep, last = first + pass.sweeps - 1;
    pass.stop = stop();
    pass.norms = norms_of(pass);
    if (has_norm(last)) pass.norms.parts = partial_norms_of(last);
    if (lag_ == 0) {
      if (pass.norms.kind != Norm::none) pass.norms.parts = partial_norms_of(0);
      return;
    }
    pass.reduction = reduction_in(first);
    if (!has_norm(first - lag_)) pass.reduction.parts = nullptr;
    if (parts_.gather != nullptr && pass.reduction.parts != nullptr) {
      reduce_share(pass.reduction, branch_->fork(stream));
      pass.reduction = {};
    }
  }

  // The exchange of this sweep comes before the gather: more waits for it.
  void end(const stencil::Pass& pass, Stream stream) override {
    if (lag_ == 0) return reduce_those_of(pass);
    if (parts_.gather == nullptr || !has_norm(pass.first_sweep - lag_)) return;
    reduce_gathered(reduction_in(pass.first_sweep), branch_->get());
    branch_->join(stream);
  }

  std::int64_t batch_sweeps() const override { return batch_sweeps_; }

  bool stops_before(std::int64_t sweep) override {
    if (sweep % batch_sweeps_ == 0 && sweep > first()) {
      send(sweep / batch_sweeps_ - 1);
      // Read the norms of the batch whose memory this one overwrites.
      look_at(sweep / batch_sweeps_ - 2, sweep);
    }
    return stopping_sweep_.has_value();
  }

  /// The norm of sweep n - 2 is the last one that can stop a run before n sweeps; sweep n - 1
  /// reduced it, or the pass that it was in.
  bool stopped_within(std::int64_t sweeps) override {
    if (sweeps <= first()) return false;
    const std::int64_t last = (sweeps - 1) / batch_sweeps_;
    look_at(last - 1, sweeps - 1);
    if (!batches_[index_of(last)].is_sent) copy(last);
    look_at(last, sweeps - 1);
    // The norm of the last sweep of this batch is in it, too, and to be entered later.
    if (lag_ == 0 && sweeps % batch_sweeps_ == 0) batches_[index_of(last)].is_sent = true;
    return stopping_sweep_.has_value();
  }

  /// The next sweep reduces it again: all ranks have one all-reduce more, and nothing else changes.
  std::optional<double> norm_of_last(std::int64_t sweeps) override {
    if (!has_norm(sweeps - 1)) return std::nullopt;
    stencil::NormReduction reduction = reduction_in(sweeps - 1 + lag_);
    if (lag_ > 0) {
      reduction.norm = &on_device().asked;
      reduction.stop = nullptr;
      reduce_now(reduction);
    }
    double norm = 0;
    device::copy(&norm, reduction.norm, sizeof norm, parts_.stream);
    link::wait_for(parts_.communicator, parts_.stream);
    return norm;
  }

  std::int64_t finish(std::int64_t sweeps) override {
    if (lag_ > 0 && has_norm(sweeps - 1)) reduce_now(reduction_in(sweeps - 1 + lag_));
    const std::int64_t last = (sweeps - 1 + lag_) / batch_sweeps_;
    for (std::int64_t batch = sent_; batch <= last; ++batch) {
      // One batch more than there is memory for, if the last sweep begins a batch.
      look_at(batch - 2, sweeps);
      send(batch);
    }
    for (std::int64_t batch = last - 1; batch <= last; ++batch) look_at(batch, sweeps);
    return stopping_sweep_ ? *stopping_sweep_ + 1 : sweeps;
  }

 private:
  /// In device memory. A norm is stored at the position of the sweep that reduces it: its own, or
  /// the next.
  struct DeviceState {
    double norms[2][most_batch_sweeps];
    double asked;
    unsigned stop;
  };
  struct Batch {
    std::shared_ptr<void> on_host;  // the norms
    device::Event arrived;
    bool is_sent = false;
  };

  static std::size_t index_of(std::int64_t batch) { return static_cast<std::size_t>(batch % 2); }
  // Only an address: the host cannot read this memory.
  DeviceState& on_device() const { return *static_cast<DeviceState*>(on_device_.get()); }
  unsigned* stop() const { return the_case().may_stop ? &on_device().stop : nullptr; }

  /// Null before the first sweep.
  stencil::PartialNorms* partial_norms_of(std::int64_t sweep) const {
    if (sweep < 0) return nullptr;
    return static_cast<stencil::PartialNorms*>(
        partial_norms_[static_cast<std::size_t>(sweep % 2)].get());
  }

  /// The reduction that a sweep does.
  stencil::NormReduction reduction_in(std::int64_t sweep) const {
    return {.parts = partial_norms_of(lag_ > 0 ? sweep - lag_ : 0),
            .kind = the_case().norm,
            .norm = &on_device().norms[index_of(sweep / batch_sweeps_)][sweep % batch_sweeps_],
            .stop = stop(),
            .tolerance = the_case().tolerance.value_or(-1),
            .least = the_case().least_norm,
            .all_reduce = parts_.all_reduce};
  }

  /// Reduces the norms of a pass at once, before the next overwrites what this one read.
  void reduce_those_of(const stencil::Pass& pass) {
    if (pass.norms.kind == Norm::none) return;
    stencil::NormReduction reduction = reduction_in(pass.first_sweep);
    if (pass.sweeps > 1)
      for (std::int64_t i = 0; i < pass.sweeps; ++i)
        if (has_norm(pass.first_sweep + i)) reduction.sweeps |= 1u << i;
    reduce_now(reduction);
  }

  /// The reduction that a sweep does, in launches of its own.
  void reduce_now(const stencil::NormReduction& reduction) {
    if (parts_.gather == nullptr) return parts_.sweep.reduce(reduction, parts_.stream);
    reduce_share(reduction, parts_.stream);
    reduce_gathered(reduction, parts_.stream);
  }

  void reduce_share(stencil::NormReduction reduction, Stream stream) {
    reduction.share = parts_.gather->mine();
    parts_.sweep.reduce(reduction, stream);
  }

  void reduce_gathered(stencil::NormReduction reduction, Stream stream) {
    const auto of_pass = static_cast<int>(std::bitset<32>(reduction.sweeps).count());
    parts_.gather->run(std::max(of_pass, 1), stream);
    reduction.shares = parts_.gather->all();
    reduction.ranks = parts_.communicator.size();
    parts_.sweep.reduce(reduction, stream);
  }

  void send(std::int64_t number) {
    copy(number);
    sent_ = number + 1;
  }

  void copy(std::int64_t number) {
    Batch& batch = batches_[index_of(number)];
    device::copy(batch.on_host.get(), on_device().norms[index_of(number)],
                 batch_sweeps_ * static_cast<std::int64_t>(sizeof(double)), parts_.stream);
    batch.arrived.record(parts_.stream);
    batch.is_sent = true;
  }

  /// Waits for the norms of a batch and enters those of the first `sweeps`, unless it has.
  void look_at(std::int64_t number, std::int64_t sweeps) {
    if (number < 0 || !batches_[index_of(number)].is_sent) return;
    Batch& batch = batches_[index_of(number)];
    batch.is_sent = false;
    comm::wait_until(
        parts_.communicator.state(),
        {.site = "sweeps on the GPU",
         .phase = Phase::other,  // the GPU's clock books them as compute
         .missing = [] { return std::string("its own GPU to finish the queued sweeps"); }},
        [&] { return batch.arrived.reached(); });
    const auto* norms = static_cast<const double*>(batch.on_host.get());
    for (std::int64_t i = 0; i < batch_sweeps_ && !stopping_sweep_; ++i) {
      const std::int64_t sweep = number * batch_sweeps_ + i - lag_;
      if (sweep < entered_ || sweep >= sweeps) continue;
      entered_ = sweep + 1;
      if (has_norm(sweep) && enter(sweep, norms[i])) stopping_sweep_ = sweep;
    }
  }

  GpuStoppingParts parts_;
  std::optional<device::Branch> branch_;  // for norms that are gathered while a sweep runs
  /// Sweeps between a sweep and the one that reduces its norm: 1, so that no rank waits for it; 0
  /// where a pass has several, since the next one overwrites what it read.
  std::int64_t lag_;
  std::int64_t batch_sweeps_;
  std::int64_t sent_;         // batches, including those before the run
  std::int64_t entered_ = 0;  // sweeps whose norms were looked at
  std::shared_ptr<void> on_device_;
  std::array<std::shared_ptr<void>, 2> partial_norms_;  // of even and of odd sweeps
  std::array<Batch, 2> batches_;
  std::optional<std::int64_t> stopping_sweep_;
};

}  // namespace

std::unique_ptr<Stopping> make_gpu_stopping(const GpuStoppingParts& parts, const RunState& start) {
  return std::make_unique<GpuStopping>(parts, start);
}

}  // namespace halocline::solver
