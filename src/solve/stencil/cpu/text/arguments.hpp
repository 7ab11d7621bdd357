// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a compiled update gets. For the program and for the text that it compiles, so it includes
// nothing.

namespace halocline::stencil::cpu {

/// The first cell of a block in an array, and the elements to the next row and plane.
struct BlockOfArray {
  void* cell;
  long long y, z;
};

/// As Block and BlockNorm of kernel.hpp have them.
struct UpdateArguments {
  const BlockOfArray *in, *out;  ///< in the order of the update's inputs and outputs
  const double* constants;
  long long cells[3], lower[3];  ///< of the block; x first
  double time;
  bool streamed;
  int norm;          ///< 0: none; 1: maximum; 2: squares
  double max;        ///< is raised
  double* row_sums;  ///< are set
  long long plane;   ///< rows from one plane to the next in `row_sums`
};

using Update = void(UpdateArguments&);

}  // namespace halocline::stencil::cpu
