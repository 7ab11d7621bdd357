// SPDX-License-Identifier: Apache-2.0
#pragma once
// MPI_Send and MPI_Recv as ordinary programs call them: to show that they work. Whatever is sent
// in earnest goes through collectives.hpp or a transport.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <halocline/communicator.hpp>

namespace halocline::mpi {

/// Both block inside MPI; only a stall handler (set_stall_handler()) ends a wait that takes too
/// long. At most 2 GiB.
void mpi_send(const Communicator& communicator, int to, std::span<const std::byte> bytes);
void mpi_receive(const Communicator& communicator, int from, std::span<std::byte> bytes);

/// The same exchange in the other ways that MPI has: this rank and `peer` send each other `out`, of
/// the same size, at once, and wait for both. Block as the above.
enum class Way {
  posted,      ///< MPI_Irecv, MPI_Isend, MPI_Waitall
  persistent,  ///< MPI_Recv_init, MPI_Send_init, MPI_Startall, MPI_Waitall
  sendrecv     ///< MPI_Sendrecv
};
void mpi_exchange(const Communicator& communicator, Way way, int peer,
                  std::span<const std::byte> out, std::span<std::byte> in);

/// Two ranks that send each other messages of one size, one of them first: what benchmarks of MPI
/// do (OSU's latency, bw and bibw). The calls block inside MPI as the above.
class PlainPair {
 public:
  enum class Turn { first, second };
  struct Options {
    int peer;
    Turn turn;
    void* out;  ///< the same bytes for every message; MPI must be able to read it
    void* in;   ///< where every message goes
    std::int64_t bytes;
  };
  PlainPair(const Communicator& communicator, const Options& options);
  ~PlainPair();
  PlainPair(const PlainPair&) = delete;
  PlainPair& operator=(const PlainPair&) = delete;

  /// One message from the first to the second and one back, `count` times: MPI_Send and MPI_Recv.
  void round_trips(std::int64_t count);
  /// `count` messages from the first to the second at once, MPI_Isend and MPI_Irecv, and then an
  /// answer of 4 bytes.
  void one_way(std::int64_t count);
  /// As many in each direction at once, without an answer.
  void both_ways(std::int64_t count);

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace halocline::mpi
