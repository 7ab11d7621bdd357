// SPDX-License-Identifier: Apache-2.0
#pragma once
// Groups of ranks, and the start and end of MPI.

#include <chrono>
#include <memory>
#include <utility>

namespace halocline {

namespace comm {
class State;
}

/// Initialises MPI, with MPI_THREAD_FUNNELED, unless it is running already; the destructor
/// finalises MPI if this object initialised it and MPI still runs. Create one first in main(); a
/// program that calls MPI_Init itself needs none. With Open MPI the constructor waits until the
/// threads that MPI has started sleep, a second at most and mostly not at all. Throws unavailable
/// if MPI offers less than MPI_THREAD_FUNNELED, usage if MPI is finalised.
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
  /// A longer wait for a peer throws a communication error that names the peer; 0: no limit.
  std::chrono::duration<double> wait_limit = std::chrono::seconds(120);
};

/// A group of ranks, and which of them share a node. Copies share one state, which owns a
/// duplicated MPI communicator. Destroy this and all that was made with it before MPI is finalised:
/// what ends later makes no MPI call and keeps MPI's resources, and calls then throw usage.
/// Threads: see halocline.hpp.
class Communicator {
 public:
  /// Duplicates MPI_COMM_WORLD. Collective. Throws usage if MPI is not running, unavailable if
  /// ranks of another MPI's launcher do not find each other. from_mpi() in mpi.hpp takes any
  /// MPI_Comm.
  static Communicator world(const CommunicatorOptions& options = {});
  /// Returns a communicator of this rank alone. Not collective. Throws usage if MPI is not running.
  static Communicator self(const CommunicatorOptions& options = {});
  explicit Communicator(std::shared_ptr<comm::State> state) : state_(std::move(state)) {}

  int rank() const;
  int size() const;
  /// Returns the number of a rank's node. Nodes count from 0 in the order of their lowest ranks.
  int node_of(int rank) const;
  int node_count() const;
  /// Returns how many ranks are on this rank's node.
  int node_size() const;
  CommunicatorOptions options() const;

  comm::State& state() const { return *state_; }

 private:
  std::shared_ptr<comm::State> state_;
};

}  // namespace halocline
