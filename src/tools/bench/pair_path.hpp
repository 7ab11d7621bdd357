// SPDX-License-Identifier: Apache-2.0
#pragma once
// Messages between two ranks, for timing.

#include <memory>
#include <optional>
#include <string>

#include <halocline/communicator.hpp>
#include <halocline/memory.hpp>
#include <halocline/stream.hpp>

#include "base/text/notes.hpp"

namespace halocline::bench {

struct PairPathOptions {
  std::string transport;
  Memory memory = Memory::host;
  Stream stream = Stream::host();  ///< of the GPU that reads the memory, if any
  std::int64_t bytes = 0;          ///< of each message
  int ranks[2];                    ///< first and second, in the communicator of all ranks
};

/// Messages between two ranks. Both call each function together; its work, also on GPUs, is
/// complete on return.
class PairPath {
 public:
  virtual ~PairPath() = default;
  PairPath(const PairPath&) = delete;
  PairPath& operator=(const PairPath&) = delete;

  /// A message from the first to the second, then one back, `count` times.
  virtual void round_trips(std::int64_t count) = 0;
  /// `count` messages from the first to the second, then a short reply.
  virtual void one_way(std::int64_t count) = 0;
  /// `count` messages each way at once.
  virtual void both_ways(std::int64_t count) = 0;

  /// Sends as the functions above and checks every byte, which depends on sender, receiver,
  /// position and round. Use a different `round` for each call. Returns the first error on the rank
  /// that detects it. Both ranks must call it together.
  std::optional<std::string> first_wrong(int round);

 protected:
  explicit PairPath(const PairPathOptions& options, int turn);

  virtual std::byte* out() const = 0;  ///< sent memory
  virtual std::byte* in() const = 0;   ///< received memory

  bool is_first() const { return turn_ == 0; }
  int me() const { return options_.ranks[turn_]; }
  int peer() const { return options_.ranks[1 - turn_]; }
  const PairPathOptions& options() const { return options_; }

 private:
  template <class Send>
  std::optional<std::string> after(int round, bool comes_here, const Send& send);

  PairPathOptions options_;
  int turn_;
};

/// Makes a path. `mpi` and `gpu_aware` are plain MPI calls on the communicator of all ranks, `all`;
/// other transports are those of an Exchange between the ranks of `pair`, with one message after
/// another. Adds the notes of the exchanges. Collective over `pair`; throws what making an Exchange
/// throws, the same on both ranks.
std::unique_ptr<PairPath> make_pair_path(const Communicator& all, const Communicator& pair,
                                         const PairPathOptions& options, Notes& notes);

}  // namespace halocline::bench
