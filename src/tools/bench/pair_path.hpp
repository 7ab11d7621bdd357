// SPDX-License-Identifier: Apache-2.0
#pragma once
// How bytes get from one rank's memory to another's, and back: what is timed between two ranks.

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
  Stream stream = Stream::host();  ///< of the GPU that reaches the memory, if one does
  std::int64_t bytes = 0;          ///< of each message
  int ranks[2];                    ///< in the communicator of all, the first one first
};

/// Messages between two ranks. What both have to call together is done on return: on a GPU, too.
class PairPath {
 public:
  virtual ~PairPath() = default;
  PairPath(const PairPath&) = delete;
  PairPath& operator=(const PairPath&) = delete;

  /// A message from the first to the second, then one back, `count` times.
  virtual void round_trips(std::int64_t count) = 0;
  /// `count` messages from the first to the second, then a short answer.
  virtual void one_way(std::int64_t count) = 0;
  /// `count` messages each way at once.
  virtual void both_ways(std::int64_t count) = 0;

  /// Sends as all of the above do and compares every byte that came: each tells of sender,
  /// receiver, place and round. Another `round` each time. Returns what was wrong, to the rank
  /// that saw it. Both must call it together.
  std::optional<std::string> first_wrong(int round);

 protected:
  explicit PairPath(const PairPathOptions& options, int turn);

  virtual std::byte* out() const = 0;  ///< what is sent
  virtual std::byte* in() const = 0;   ///< where it comes

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

/// Opens one. `mpi` and `gpu_aware` are MPI's own calls on the communicator of all ranks, `all`;
/// every other transport is that of an Exchange of the two ranks of `pair`, one message of which
/// follows the other. Notes are what such exchanges tell of themselves. Collective over `pair`;
/// throws what making an Exchange throws, the same on both.
std::unique_ptr<PairPath> make_pair_path(const Communicator& all, const Communicator& pair,
                                         const PairPathOptions& options, Notes& notes);

/// True for what make_pair_path() sends by MPI's own calls.
bool is_plain_mpi(const std::string& transport);

}  // namespace halocline::bench
