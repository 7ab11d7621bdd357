// SPDX-License-Identifier: Apache-2.0
#pragma once
// Figures of this machine that `halocline bench` has written, and what they say of a run.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <halocline/grid.hpp>

namespace halocline::plan {

/// The axes that are split over ranks, by how their halos lie in memory. Packing single cells takes
/// many times as long as copying as many bytes that lie together.
struct Split {
  bool cells = false;   ///< x, if it is not the only axis: single cells
  bool rows = false;    ///< y of three axes: rows along x
  bool planes = false;  ///< the last axis: everything together
  bool operator==(const Split&) const = default;
};
Split split_of(const Extents& process_grid);

/// In what the figures behind a prediction are unlike the run.
enum class Unlike { ranks, cells, norm, split, messages };
std::string_view name_of(Unlike unlike);

/// Seconds of one sweep, with the exchange and the all-reduce of norms after it; with overlap up to
/// `exchange` less.
struct Prediction {
  double sweep, exchange, norm;
  std::vector<Unlike> unlike;  ///< in the order of the enumerators, each once
  double together() const { return sweep + exchange + norm; }
};

/// What was measured, as far as a plan needs it.
struct Figures {
  struct Rate {
    std::string problem, precision;
    double cells;                      ///< of one rank
    double cells_per_second;           ///< that each rank updated while all worked, without halos
    int ranks = 1, threads = 1;        ///< threads of each rank
    std::int64_t norm_every = 0;       ///< 0: no norms
    double seconds_of_all_reduce = 0;  ///< for one norm
    bool on_gpu = false;
    std::string where;  ///< "cpu on AMD EPYC, host memory"
  };
  struct Exchanged {
    std::int64_t messages, bytes;
    double seconds;
    std::string transport;
    int ranks = 2;
    Split split;
    bool between_sweeps = false;  ///< as a run has it: halos not in caches, ranks not in step
  };
  std::vector<Rate> rates;
  std::vector<Exchanged> exchanges;

  bool empty() const { return rates.empty() && exchanges.empty(); }
};

/// Adds what a report of `bench step`, `bench halo` or `solve` says (its --json). Throws usage for
/// a file that is none of these, or cannot be read.
void add_figures(Figures& figures, const std::string& path);

/// What is to be predicted, of the busiest rank.
struct Question {
  std::string problem, precision;
  int ranks = 1;
  double cells = 0;
  std::int64_t norm_every = 0;  ///< 0: no norms
  std::int64_t messages = 0, bytes = 0;
  Split split;
};

/// By rates of runs with as many ranks and norms, between those of fewer and of more cells; by the
/// fastest transport, its time drawn as a line between sizes of messages. Where there are no such
/// figures takes the nearest and tells in what they are unlike. Nothing without any rate, or
/// without any exchange where there are messages.
std::optional<Prediction> predict(const Figures& figures, const Question& question);

}  // namespace halocline::plan
