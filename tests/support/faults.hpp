// SPDX-License-Identifier: Apache-2.0
#pragma once
// Faults of MPI, made to order.

namespace halocline::test {

/// While one of these lives, MPI_Win_allocate_shared fails on this rank, as it does where the
/// node's shared memory is full.
class NoSharedMemory {
 public:
  NoSharedMemory();
  ~NoSharedMemory();
  NoSharedMemory(const NoSharedMemory&) = delete;
  NoSharedMemory& operator=(const NoSharedMemory&) = delete;
};

}  // namespace halocline::test
