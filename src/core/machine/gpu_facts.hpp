// SPDX-License-Identifier: Apache-2.0
#pragma once
// The facts that determine the binding of ranks to GPUs, and how they are gathered.

#include <optional>
#include <string>
#include <vector>

#include <halocline/communicator.hpp>

#include "device/gpu.hpp"

namespace halocline::machine {

struct VisibleGpu {
  device::Gpu gpu;
  std::vector<int> near_cores;  ///< ascending; empty if not known
};

/// Facts of a rank before it is bound to a GPU.
struct RankFacts {
  int rank = 0;
  int node = 0;
  std::string host;                            ///< the node's own name; may be empty
  std::vector<VisibleGpu> visible;             ///< in the order in which this rank counts them
  std::string none_because;                    ///< why `visible` is empty, and the fix
  std::vector<int> cores;                      ///< those that it may run on, ascending
  bool all_cores = false;                      ///< it may run on every core of the node
  std::optional<std::string> visible_devices;  ///< CUDA_VISIBLE_DEVICES
  bool under_mps = false;
};

/// Collects the facts of all ranks, in order of rank. Collective.
std::vector<RankFacts> gather_facts(const Communicator& communicator);

/// Writes facts as one line, with any characters in them escaped.
std::string to_line(const RankFacts& facts);
RankFacts from_line(const std::string& line);

/// Reads the cores near the device at an address like "0000:1b:00.0" from a folder structured like
/// /sys/bus/pci/devices. Empty if not known.
std::vector<int> near_cores(const std::string& pci,
                            const std::string& devices = "/sys/bus/pci/devices");

/// Returns whether an MPS control daemon listens in the folder that CUDA uses: `pipe_directory` is
/// the value of CUDA_MPS_PIPE_DIRECTORY.
bool mps_listens(const std::optional<std::string>& pipe_directory);
/// The same for this process.
bool mps_listens();

}  // namespace halocline::machine
