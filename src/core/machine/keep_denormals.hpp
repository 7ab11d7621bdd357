// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace halocline::machine {

/// While it lives, the calling thread and those of its OpenMP teams compute with denormal numbers;
/// then as before. A library that was built with -ffast-math, such as a Python module, has the
/// processor take them for 0, on the thread that loads it and on those that this one starts. Takes
/// some microseconds. Does nothing on processors other than x86-64 and AArch64.
class KeepDenormals {
 public:
  /// `threads`: the most of a team; threads that join later have the state of the calling one.
  explicit KeepDenormals(int threads);
  ~KeepDenormals();
  KeepDenormals(const KeepDenormals&) = delete;
  KeepDenormals& operator=(const KeepDenormals&) = delete;

 private:
  std::vector<unsigned> flushed_;  ///< the bits that each thread had set
};

}  // namespace halocline::machine
