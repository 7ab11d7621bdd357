// SPDX-License-Identifier: Apache-2.0
#pragma once
// The result of a run: of `halocline solve`, or of a program with its own sweeps.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <halocline/exchange.hpp>
#include <halocline/grid.hpp>

namespace halocline {

/// A device that computes sweeps: a GPU, or the processor of a node.
struct RunDevice {
  std::string kind;  ///< "gpu", "cpu"
  std::string name;
  std::string uuid;  ///< of a GPU
  std::string host;
  std::vector<int> ranks;
};

struct RunResult {
  std::string problem;
  Extents cells, process_grid;
  std::string precision, norm, backend, memory, simd, schedule, mpi;
  int ranks = 0, nodes = 0, threads = 0;
  std::vector<RunDevice> devices;
  std::vector<std::pair<std::string, std::string>> transports;  ///< by kind of pair
  std::vector<ExchangeInfo::Race> races;                        ///< the times of transports tried

  std::int64_t sweeps = 0;
  std::optional<double> tolerance;
  bool converged = false;
  bool diverged = false;                                      ///< a norm is not finite
  std::vector<std::pair<std::int64_t, double>> norm_history;  ///< (sweep from 0, its norm)
  double sum = 0;
  std::uint64_t checksum = 0;

  double setup_seconds = 0, first_sweep_seconds = 0, loop_seconds = 0;
  double compile_seconds = 0;  ///< of the set-up, to compile the formulas for GPUs; 0: nothing was
  double glups = 0;
  std::int64_t bytes_per_update = 0;  ///< of memory: each value read once, each new one written
  std::int64_t halo_messages = 0, halo_bytes = 0;  ///< per exchange, the largest of any rank
  std::vector<std::string> notes;
};

}  // namespace halocline
