// SPDX-License-Identifier: Apache-2.0
#pragma once
// Messages by derived datatypes of MPI, as ordinary programs exchange halos.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <halocline/communicator.hpp>

namespace halocline::mpi {

/// A box within an array, as for MPI_Type_create_subarray: axes from slowest to fastest. Empty
/// without axes.
struct Subarray {
  std::byte* array = nullptr;                 ///< the first element
  std::int64_t element_bytes = 8;             ///< 4: MPI_FLOAT, 8: MPI_DOUBLE, otherwise bytes
  std::vector<std::int64_t> sizes{};          ///< of the array, in elements
  std::vector<std::int64_t> starts{}, box{};  ///< first element and extent of the box
};

/// A message to a rank and one from it; empty boxes have no message.
struct Swap {
  int peer = 0;                 ///< may be this rank
  int tag_out = 0, tag_in = 0;  ///< at most 32767
  Subarray out, in;
};

/// Messages with a datatype for each box; each run calls MPI_Irecv and MPI_Isend for all, then
/// MPI_Waitall.
class DerivedTypes {
 public:
  /// The arrays must outlive it. Collective, destruction too; throws, the same on every rank:
  /// communication if MPI refuses a datatype, internal if a box is too large for one.
  DerivedTypes(const Communicator& communicator, const std::vector<Swap>& swaps);
  ~DerivedTypes();
  DerivedTypes(const DerivedTypes&) = delete;
  DerivedTypes& operator=(const DerivedTypes&) = delete;

  /// Sends and receives everything once. Blocks inside MPI; only a stall handler
  /// (set_stall_handler()) ends a wait that takes too long.
  void run();

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace halocline::mpi
