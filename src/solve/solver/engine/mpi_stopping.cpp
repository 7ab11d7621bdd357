// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include <halocline/error.hpp>

#include "comm/collectives.hpp"
#include "device/buffer.hpp"
#include "device/queue.hpp"
#include "solver/engine/stopping.hpp"

namespace halocline::solver {
namespace {

/// Storage for the norm of a sweep, and its copy to the host. Holds one norm at a time: begin(),
/// one or more sweeps, end(), value().
class NormSlot {
 public:
  explicit NormSlot(bool on_gpu)
      : norm_(device::allocate(on_gpu ? Memory::device : Memory::host, sizeof(double))),
        on_host_(on_gpu ? device::allocate(Memory::pinned, sizeof(double)) : norm_) {}

  /// Sets the norm to zero and returns the address for sweeps to add to. Ordered by `stream`.
  double* begin(Stream stream) {
    if (stream.is_host())
      *static_cast<double*>(norm_.get()) = 0;
    else
      device::clear(norm_.get(), sizeof(double), stream);
    return static_cast<double*>(norm_.get());
  }
  /// Starts the copy to the host, after the last sweep. Ordered by `stream`.
  void end(Stream stream) {
    if (stream.is_host()) return;
    device::copy(on_host_.get(), norm_.get(), sizeof(double), stream);
    arrived_.record(stream);
  }
  /// Waits for the copy and returns the norm.
  double value() const {
    arrived_.wait();
    return *static_cast<const double*>(on_host_.get());
  }

 private:
  std::shared_ptr<void> norm_, on_host_;  // the same on the host
  device::Event arrived_;
};

class MpiStopping final : public Stopping {
 public:
  MpiStopping(const Communicator& communicator, const Case& the_case, const RunState& start,
              Stream stream)
      : Stopping(the_case, start),
        reductions_{comm::NonblockingAllReduce(communicator),
                    comm::NonblockingAllReduce(communicator)},
        slots_{NormSlot(!stream.is_host()), NormSlot(!stream.is_host())} {}

  void begin(stencil::Pass& pass, Stream stream) override {
    if (pass.sweeps != 1)
      throw Error(ErrorKind::internal, "a pass of several sweeps has norms that the host reduces");
    pass.norms = norms_of(pass);
    if (pass.norms.kind != Norm::none) pass.norms.sum = slot_of(pass.first_sweep).begin(stream);
  }

  void end(const stencil::Pass& pass, Stream stream) override {
    const std::int64_t sweep = pass.first_sweep;
    // If halos were exchanged, a GPU has finished the previous sweep by now, too.
    offer_pending();
    if (!has_norm(sweep)) return;
    slot_of(sweep).end(stream);
    pending_ = sweep;
    // On the host now, so that the next sweep hides the all-reduce.
    if (stream.is_host()) offer_pending();
  }

  bool stops_before(std::int64_t sweep) override {
    stopped_ = stopped_ || look_at(sweep - 2);
    return stopped_;
  }

  std::optional<double> norm_of_last(std::int64_t sweeps) override {
    offer_pending();
    const std::int64_t last = sweeps - 1;
    if (last < 0 || !reduction_of(last).in_flight()) return std::nullopt;
    early_ = {last, norm_of(last)};
    return early_->second;
  }

  std::int64_t finish(std::int64_t sweeps) override {
    offer_pending();
    if (stops_before(sweeps)) {
      discard(sweeps - 1);
      return sweeps - 1;  // one sweep too many
    }
    look_at(sweeps - 1);
    return sweeps;
  }

 private:
  static std::size_t index_of(std::int64_t sweep) { return static_cast<std::size_t>(sweep % 2); }
  comm::NonblockingAllReduce& reduction_of(std::int64_t sweep) {
    return reductions_[index_of(sweep)];
  }
  NormSlot& slot_of(std::int64_t sweep) { return slots_[index_of(sweep)]; }

  /// Starts the all-reduce of the last partial norm of this rank, if it is pending.
  void offer_pending() {
    if (!pending_) return;
    reduction_of(*pending_).start(the_case().norm == Norm::max
                                      ? comm::NonblockingAllReduce::Kind::max
                                      : comm::NonblockingAllReduce::Kind::sum,
                                  slot_of(*pending_).value());
    pending_.reset();
  }

  /// Waits for the norm of a sweep, if it has one; returns true if that norm stops the run.
  bool look_at(std::int64_t sweep) {
    if (early_ && early_->first == sweep) {
      const double norm = early_->second;
      early_.reset();
      return enter(sweep, norm);
    }
    if (sweep < 0 || !reduction_of(sweep).in_flight()) return false;
    return enter(sweep, norm_of(sweep));
  }

  double norm_of(std::int64_t sweep) {
    const double sum = reduction_of(sweep).finish();
    return the_case().norm == Norm::l2 ? std::sqrt(sum) : sum;
  }

  /// Finishes the all-reduce of a norm that no longer matters.
  void discard(std::int64_t sweep) {
    if (sweep >= 0 && reduction_of(sweep).in_flight()) reduction_of(sweep).finish();
  }

  std::array<comm::NonblockingAllReduce, 2> reductions_;
  std::array<NormSlot, 2> slots_;
  std::optional<std::int64_t> pending_;  // a sweep whose all-reduce has not started
  std::optional<std::pair<std::int64_t, double>>
      early_;  // a norm that was asked for before its turn
  bool stopped_ = false;
};

}  // namespace

std::unique_ptr<Stopping> make_mpi_stopping(const Communicator& communicator, const Case& the_case,
                                            const RunState& start, Stream stream) {
  return std::make_unique<MpiStopping>(communicator, the_case, start, stream);
}

}  // namespace halocline::solver
