// SPDX-License-Identifier: Apache-2.0
#include <halocline/exchange.hpp>

#include "solver/engine/runner.hpp"
#include "solver/engine/schedules/pass_stepper.hpp"
#include "solver/engine/schedules/schedules.hpp"

namespace halocline::solver {
namespace {

class SequentialStepper final : public PassStepper {
 public:
  using PassStepper::PassStepper;

 private:
  void exchange_and_sweep(const Step& step, Stream stream) override {
    runner().exchange().run(step.level, stream);
    sweep_in_halo(step, stream);
  }
};

class Sequential final : public Schedule {
 public:
  std::string_view name() const override { return "sequential"; }
  MadeStepper make(Runner& runner) const override {
    return {.stepper = std::make_unique<SequentialStepper>(runner)};
  }
  bool is_preferred(const Runner&) const override { return true; }
  bool does_passes() const override { return true; }
};

}  // namespace

const Schedule& sequential_schedule() {
  static const Sequential schedule;
  return schedule;
}

}  // namespace halocline::solver
