// SPDX-License-Identifier: Apache-2.0
#pragma once
// Work of all ranks that a disk may delay for any time, and the end of waiting for a rank that is
// stopped or lost.

#include <functional>
#include <future>

#include <halocline/communicator.hpp>

namespace halocline::files {

/// How work on a disk ended.
struct DiskEnd {
  int error = 0;       ///< the result of this rank's work; 0: it succeeded
  bool on_all = true;  ///< it succeeded on every rank
};

/// Work on every rank, each in a thread of its own, while the ranks do something else.
class DiskWork {
 public:
  /// `tag` is one of the communicator's, which several may share.
  DiskWork(const Communicator& communicator, int tag) : communicator_(communicator), tag_(tag) {}

  /// Starts `work`, after finish() if there is some. It must own the data it uses, since it
  /// continues after an error, and must not call MPI nor throw.
  void start(const std::function<int()>& work);
  /// Waits until all ranks are done; at once if nothing was started. Meanwhile the ranks
  /// exchange signs of life: a slow disk is waited for without a limit, but a rank that is silent
  /// for the wait limit is stopped or lost. Collective. Throws communication, naming the silent
  /// ranks.
  DiskEnd finish();

 private:
  Communicator communicator_;
  int tag_;
  std::future<int> result_;
};

}  // namespace halocline::files
