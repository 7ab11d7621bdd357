// SPDX-License-Identifier: Apache-2.0
#pragma once
// MPI collectives on host or GPU memory. An MPI may accept GPU memory in messages, but not in
// collectives.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <halocline/communicator.hpp>

#include "probe/paths.hpp"

namespace halocline::probe {

/// One collective over all ranks, with its own memory.
class Collective {
 public:
  /// `bytes`, a multiple of 8, is the input of each rank. Throws what allocating throws, the same
  /// on every rank.
  Collective(const Communicator& communicator, const Path& path, std::int64_t bytes);

  /// Calls it with values made of rank and position, with the first and the last rank as root, and
  /// checks every byte. Returns the first error, the same on every rank. Collective.
  std::string prove();

  /// Calls it once, with the present contents of its memory. Collective.
  void call();

 private:
  using Bytes = std::vector<std::byte>;

  Bytes given_by(int rank, int round) const;
  Bytes expected(int round) const;
  std::string prove_round(int round);

  const Communicator& communicator_;
  std::string name_;
  std::int64_t bytes_, result_bytes_;
  int root_ = 0;
  std::shared_ptr<void> mine_, result_;
};

}  // namespace halocline::probe
