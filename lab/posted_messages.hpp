// SPDX-License-Identifier: Apache-2.0
#pragma once
// Messages posted one by one and asked about later, as ordinary programs do by MPI_Isend,
// MPI_Irecv and MPI_Test: to show what becomes of it.

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include <halocline/communicator.hpp>

#include "base/recorder.hpp"

namespace halocline::bench {

/// Messages on their way. At most 2 GiB each.
class PostedMessages {
 public:
  /// Messages of one lane, 0 to `lanes` - 1, come in the order in which they were sent; none mix
  /// with those of another. `memory` is what they read and write. Every rank must make it in the
  /// same order as other plans.
  PostedMessages(const Communicator& communicator, int lanes, std::shared_ptr<const void> memory);
  ~PostedMessages();
  PostedMessages(const PostedMessages&) = delete;
  PostedMessages& operator=(const PostedMessages&) = delete;

  /// Post a message; return its number, 0 up.
  std::size_t send(int to, int lane, std::span<const std::byte> bytes);
  std::size_t receive(int from, int lane, std::span<std::byte> bytes);

  /// Never block.
  bool done(std::size_t message);
  bool all_done();
  /// When it was first seen to be done.
  Clock::time_point done_at(std::size_t message) const;

  /// Forgets all messages, which must be done.
  void clear();

 private:
  struct Requests;
  Communicator communicator_;
  std::vector<int> tags_;  // by lane
  std::shared_ptr<const void> memory_;
  std::unique_ptr<Requests> requests_;
};

}  // namespace halocline::bench
