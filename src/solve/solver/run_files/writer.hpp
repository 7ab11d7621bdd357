// SPDX-License-Identifier: Apache-2.0
#pragma once
// The files of a run, written while its sweeps continue.

#include <cstdint>
#include <functional>
#include <future>
#include <set>
#include <string>

#include <halocline/communicator.hpp>
#include <halocline/grid.hpp>
#include <halocline/solver.hpp>

#include "solver/engine/levels.hpp"
#include "solver/target.hpp"

namespace halocline::solver {

/// Writes files in parallel with the sweeps: in a thread of its own, from copies of the fields.
/// Where that is not possible, the sweeps wait while it writes. All functions are collective unless
/// documented otherwise.
class Writer {
 public:
  /// Throws unavailable if the option 'writing' asks for a thread and MPI allows none.
  Writer(const Communicator& communicator, SolveOptions::Writing option);
  /// Waits for the file being written, which is cancelled if an error unwinds the stack.
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  /// The communicator of everything that is written, by the thread and after it.
  const Communicator& communicator() const { return communicator_; }

  /// Takes memory for copies of these fields of a level: in the memory of the fields, or in host
  /// memory where a GPU has no room. Throws unavailable if there is none and the option asks for a
  /// thread.
  void take_room(const Grid& grid, const Level& level, const std::set<std::size_t>& fields,
                 const Target& target);

  /// Calls `write` with a level that has the present values of these fields, once the last call is
  /// done. It must not throw, and must own or outlast all that it uses. finish() waits for it.
  using Write = std::function<void(const Level& level)>;
  void start(const Level& level, const std::set<std::size_t>& fields, const Write& write);
  /// Waits until the last call is done.
  void finish();
  /// Frees the copies, once nothing is written during sweeps any more. Not collective.
  void release();
  /// Whether it is at work. Not collective.
  bool is_busy() const;

  const SolveResult::Writing& so_far() const { return so_far_; }

 private:
  void wait_between(const std::string& because);

  SolveOptions::Writing option_;
  SolveResult::Writing so_far_;
  Communicator communicator_;
  Level copies_;  ///< by the number of the field; empty if the sweeps wait
  std::function<void()> use_gpu_;
  std::future<void> work_;
};

}  // namespace halocline::solver
