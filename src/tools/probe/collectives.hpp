// SPDX-License-Identifier: Apache-2.0
#pragma once
// Collectives of MPI, also on a GPU's memory: an MPI may take it in messages, and not here.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <halocline/communicator.hpp>

#include "probe/paths.hpp"

namespace halocline::probe {

/// One collective over all ranks, with memory of its own.
class Collective {
 public:
  /// `bytes`, of whole numbers of 8, go in on every rank. Throws what allocating throws, the same
  /// on every rank.
  Collective(const Communicator& communicator, const Path& path, std::int64_t bytes);

  /// Calls it with values that name rank and place, for the first and the last rank as root, and
  /// checks every byte. Returns what was wrong, the same on every rank. All ranks call it together.
  std::string prove();

  /// Calls it once, with what the memory holds.
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
