// SPDX-License-Identifier: Apache-2.0
#pragma once
// Figures of this machine that `halocline bench` has written, and what they say of a run.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <halocline/grid.hpp>

namespace halocline::plan {

/// Seconds of one sweep with its exchange after it; with overlap up to `exchange` less.
struct Prediction {
  double sweep, exchange;
  double together() const { return sweep + exchange; }
};

/// What was measured, as far as a plan needs it.
struct Figures {
  struct Rate {
    std::string problem, precision;
    double cells;             ///< of one rank
    double cells_per_second;  ///< that it updated
    std::string where;        ///< "cpu on AMD EPYC, host memory"
  };
  struct Exchanged {
    std::int64_t messages, bytes;
    double seconds;
    std::string transport;
  };
  std::vector<Rate> rates;
  std::vector<Exchanged> exchanges;

  bool empty() const { return rates.empty() && exchanges.empty(); }
};

/// Adds what a report of `bench step`, `bench halo` or `solve` says (its --json). Throws usage for
/// a file that is none of these, or cannot be read.
void add_figures(Figures& figures, const std::string& path);

/// By the rate of one rank whose cells come nearest, and by the fastest transport, its time drawn
/// as a line between sizes of messages. Nothing where one of both is missing.
std::optional<Prediction> predict(const Figures& figures, const std::string& problem,
                                  const std::string& precision, double cells_of_rank,
                                  std::int64_t messages, std::int64_t bytes);

}  // namespace halocline::plan
