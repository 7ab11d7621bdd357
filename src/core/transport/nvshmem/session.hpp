// SPDX-License-Identifier: Apache-2.0
#pragma once
// NVSHMEM in this process: it can start once, with all ranks of the job.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <halocline/communicator.hpp>

#include "transport/nvshmem/library.hpp"

namespace halocline::transport::nvshmem {

/// Started by the first communicator that needs it; ends in MPI_Finalize.
class Session {
 public:
  /// Returns it. Collective. Throws, the same on every rank: unavailable unless the communicator
  /// has all ranks of MPI_COMM_WORLD, and each a GPU of its own; resource if it does not start.
  static Session& of(const Communicator& communicator);

  const Library& library() const { return library_; }
  /// "NVSHMEM 3.4.5 ('PATH') took 0.5 s and 2274 MiB of each GPU to start".
  const std::string& note() const { return note_; }
  /// Returns NVSHMEM's number of a rank of the communicator.
  int number_of(const Communicator& communicator, int rank) const;

  /// Whether MPI_Finalize has ended it. Callable from any thread.
  static bool is_over();

  /// Allocates zeros in the symmetric heap, the largest number of bytes that a rank requests.
  /// Collective, as the release of the memory is. Throws resource.
  std::shared_ptr<void> allocate(const Communicator& communicator, std::int64_t bytes);

 private:
  Session(const Communicator& communicator, const Library& library);
  static void end_with_mpi();

  const Library& library_;
  std::string note_;
};

}  // namespace halocline::transport::nvshmem
