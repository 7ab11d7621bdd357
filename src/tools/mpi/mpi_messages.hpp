// SPDX-License-Identifier: Apache-2.0
#pragma once
// MPI messages and collectives as ordinary programs call them, for tests and benchmarks. Halocline
// itself communicates by comm/collectives.hpp and transports. All block inside MPI; only a stall
// handler (set_stall_handler()) ends a wait that takes too long.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <halocline/communicator.hpp>

namespace halocline::mpi {

/// Messages of at most 2 GiB.
void mpi_send(const Communicator& communicator, int to, std::span<const std::byte> bytes);
void mpi_receive(const Communicator& communicator, int from, std::span<std::byte> bytes);

/// This rank and `peer` send each other `out`, of the same size, at once, and wait for both.
enum class Way {
  posted,      ///< MPI_Irecv, MPI_Isend, MPI_Waitall
  persistent,  ///< MPI_Recv_init, MPI_Send_init, MPI_Startall, MPI_Waitall
  sendrecv     ///< MPI_Sendrecv
};
void mpi_exchange(const Communicator& communicator, Way way, int peer,
                  std::span<const std::byte> out, std::span<std::byte> in);

/// Adds up `count` numbers of every rank.
void mpi_allreduce(const Communicator& communicator, const double* mine, double* sums,
                   std::int64_t count);
/// Sends the bytes of rank `root` to all ranks.
void mpi_broadcast(const Communicator& communicator, void* memory, std::int64_t bytes, int root);
/// Gathers `bytes` of every rank on all ranks, in order of rank.
void mpi_allgather(const Communicator& communicator, const void* mine, void* all,
                   std::int64_t bytes);

/// Two ranks that exchange messages of one size, as benchmarks of MPI do (OSU's latency, bw and
/// bibw).
class PlainPair {
 public:
  enum class Turn { first, second };
  struct Options {
    int peer;
    Turn turn;
    void* out;  ///< the same bytes for every message; MPI must be able to read it
    void* in;   ///< receives every message
    std::int64_t bytes;
  };
  PlainPair(const Communicator& communicator, const Options& options);
  ~PlainPair();
  PlainPair(const PlainPair&) = delete;
  PlainPair& operator=(const PlainPair&) = delete;

  /// One message from the first to the second and one back, `count` times: MPI_Send and MPI_Recv.
  void round_trips(std::int64_t count);
  /// `count` messages from the first to the second at once, MPI_Isend and MPI_Irecv, and then a
  /// reply of 4 bytes.
  void one_way(std::int64_t count);
  /// `count` messages in each direction at once, without a reply.
  void both_ways(std::int64_t count);

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace halocline::mpi
