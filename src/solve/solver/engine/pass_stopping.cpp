// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "comm/collectives.hpp"
#include "solver/engine/stopping.hpp"

namespace halocline::solver {
namespace {

class PassStopping final : public Stopping {
 public:
  PassStopping(const Communicator& communicator, const Case& the_case, const RunState& start,
               std::int64_t sweeps_per_pass)
      : Stopping(the_case, start),
        reduction_(communicator),
        sums_(static_cast<std::size_t>(sweeps_per_pass)) {}

  void begin(stencil::Pass& pass, Stream) override {
    std::fill(sums_.begin(), sums_.end(), 0.0);
    pass.norms = norms_of(pass);
    pass.norms.sum = sums_.data();
  }

  void end(const stencil::Pass& pass, Stream) override {
    if (pass.norms.kind == Norm::none) return;
    begun_ = pass.first_sweep;
    done_ = pass.first_sweep + pass.sweeps;
    reduction_.start(the_case().norm == Norm::max ? comm::NonblockingAllReduce::Kind::max
                                                  : comm::NonblockingAllReduce::Kind::sum,
                     {sums_.data(), static_cast<std::size_t>(pass.sweeps)});
  }

  std::int64_t batch_sweeps() const override { return std::ssize(sums_); }

  bool stops_before(std::int64_t) override {
    read();
    return last_.has_value();
  }
  bool stopped_within(std::int64_t sweeps) override {
    read();
    return last_ && *last_ + 1 < sweeps;
  }
  std::optional<double> norm_of_last(std::int64_t) override { return std::nullopt; }
  std::int64_t finish(std::int64_t sweeps) override {
    read();
    return last_ ? *last_ + 1 : sweeps;
  }

 private:
  /// Waits for the norms of the last pass.
  void read() {
    if (!reduction_.in_flight()) return;
    const std::vector<double>& norms = reduction_.finish_all();
    for (std::int64_t sweep = begun_; sweep < done_ && !last_; ++sweep) {
      if (!has_norm(sweep)) continue;
      const double sum = norms[static_cast<std::size_t>(sweep - begun_)];
      if (enter(sweep, the_case().norm == Norm::l2 ? std::sqrt(sum) : sum)) last_ = sweep;
    }
  }

  comm::NonblockingAllReduce reduction_;
  std::vector<double> sums_;            // of the pass
  std::int64_t begun_ = 0, done_ = 0;   // sweeps of the pass whose norms are reduced
  std::optional<std::int64_t> last_{};  // the sweep that stopped the run
};

}  // namespace

std::unique_ptr<Stopping> make_pass_stopping(const Communicator& communicator, const Case& the_case,
                                             const RunState& start, std::int64_t sweeps_per_pass) {
  return std::make_unique<PassStopping>(communicator, the_case, start, sweeps_per_pass);
}

}  // namespace halocline::solver
