// SPDX-License-Identifier: Apache-2.0
#pragma once
// The ranks that work together.

#include <chrono>
#include <memory>
#include <utility>

namespace halocline {

namespace comm {
class State;
}

/// Starts MPI unless it runs already, and ends at destruction what it started. Make one first
/// thing in main(); not needed in a program that calls MPI_Init itself.
class Runtime {
 public:
  Runtime();
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

 private:
  bool started_ = false;
};

struct CommunicatorOptions {
  /// A wait for a peer that lasts longer ends in an Error that names the peer; 0: no limit.
  std::chrono::duration<double> wait_limit = std::chrono::seconds(120);
};

/// A group of ranks, and which of them share a node. Copies share one state; the last copy
/// frees the MPI communicator, so it must go before MPI is finalised.
class Communicator {
 public:
  /// Duplicates MPI_COMM_WORLD. Collective. mpi.hpp makes one from any MPI_Comm.
  static Communicator world(const CommunicatorOptions& options = {});
  /// This rank alone. Not collective.
  static Communicator self(const CommunicatorOptions& options = {});
  explicit Communicator(std::shared_ptr<comm::State> state) : state_(std::move(state)) {}

  int rank() const;
  int size() const;
  /// Number of the node, 0 up, in order of each node's lowest rank.
  int node_of(int rank) const;
  int node_count() const;
  /// Ranks on this rank's node.
  int node_size() const;
  CommunicatorOptions options() const;

  comm::State& state() const { return *state_; }

 private:
  std::shared_ptr<comm::State> state_;
};

}  // namespace halocline
