// SPDX-License-Identifier: Apache-2.0
#pragma once
// Messages posted one by one and tested later, as ordinary programs do by MPI_Isend, MPI_Irecv and
// MPI_Test.

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include <halocline/communicator.hpp>

#include "base/recorder.hpp"

namespace halocline::bench {

/// Messages in progress, at most 2 GiB each.
class PostedMessages {
 public:
  /// Messages of one lane, 0 to `lanes` - 1, arrive in the order in which they were sent; lanes are
  /// independent. `memory` owns what they read and write. Every rank must construct it in the same
  /// order as other plans.
  PostedMessages(const Communicator& communicator, int lanes, std::shared_ptr<const void> memory);
  ~PostedMessages();
  PostedMessages(const PostedMessages&) = delete;
  PostedMessages& operator=(const PostedMessages&) = delete;

  /// Post a message; return its number, counted from 0.
  std::size_t send(int to, int lane, std::span<const std::byte> bytes);
  std::size_t receive(int from, int lane, std::span<std::byte> bytes);

  /// Never block.
  bool done(std::size_t message);
  bool all_done();
  /// Returns when the message was first found to be done.
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
