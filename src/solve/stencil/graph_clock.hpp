// SPDX-License-Identifier: Apache-2.0
#pragma once
// Compiles with nvcc and with NVRTC, so nothing of the standard library is included.

namespace halocline::stencil {

/// The time of a sweep for kernels in a CUDA graph, which keep their arguments from launch to
/// launch.
struct GraphClock {
  const long long* first =
      nullptr;          ///< in device memory: number of the graph's first sweep; null: no graph
  long long ahead = 0;  ///< of this sweep, minus that
  double dt = 0;        ///< t of sweep n is n times this
};

}  // namespace halocline::stencil
