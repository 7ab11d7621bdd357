// SPDX-License-Identifier: Apache-2.0
#include "problem/problem.hpp"

#include "program/noise.hpp"

namespace halocline::problem {
namespace {

class NoiseStart final : public Start {
 public:
  explicit NoiseStart(const Setting& setting) : cells_(setting.cells), seed_(setting.seed) {}
  void row(Int3 first, std::int64_t count, double* values) const override {
    program::noise_row(cells_, seed_, first, count, values);
  }

 private:
  Int3 cells_;
  std::uint64_t seed_;
};

}  // namespace

void Problem::check(const Setting&) const {}

double Problem::boundary(const Setting&, Int3) const { return 0; }

std::optional<double> Problem::exact(const Setting&, Int3, std::int64_t) const {
  return std::nullopt;
}

std::unique_ptr<Start> noise_start(const Setting& setting) {
  return std::make_unique<NoiseStart>(setting);
}

}  // namespace halocline::problem
