// SPDX-License-Identifier: Apache-2.0
#pragma once
// Messages by persistent MPI requests, which the host posts once the stream has reached them.

#include <mpi.h>

#include <list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/waiting.hpp"
#include "device/queue.hpp"
#include "transport/transport.hpp"

namespace halocline::transport {

class MpiChannel final : public Channel, private comm::InFlight {
 public:
  /// MPI must be able to read `slots` and the memory of parts in place. `wait_site` is a literal.
  MpiChannel(const Communicator& communicator, std::vector<Message> messages, Memory slots,
             const char* wait_site);
  ~MpiChannel() override;

  Slots send_slots(std::size_t message) override { return {send_[message], send_[message]}; }
  Slots receive_slots(std::size_t message) override {
    return {receive_[message], receive_[message]};
  }
  void shift(std::span<const std::int64_t> of_arrays) override;
  void start(Stream stream) override;
  bool progress() override;
  void finish(Stream stream) override;

 private:
  comm::State& state() const { return communicator_.state(); }
  /// Persistent requests: all receives, then all sends. Their addresses are fixed.
  struct Requests {
    std::vector<std::int64_t> shifts;  ///< of the arrays that they are for
    std::vector<MPI_Request> all;
  };

  std::byte* buffer_for(const std::vector<Part>& parts, Memory memory);
  std::size_t pieces_of(const std::vector<Part>& parts) const;
  Requests make_requests(std::span<const std::int64_t> of_arrays) const;
  template <class Init>
  void create(std::vector<MPI_Request>& requests, int peer, std::byte* bytes, std::int64_t count,
              Init init) const;
  std::vector<MPI_Request>& requests() { return sets_.front().all; }
  void post();
  void move_on() override;
  bool all_done();
  void abandon();
  std::string missing();
  std::string unfinished(std::size_t request, const std::vector<std::size_t>& ends);

  Communicator communicator_;
  std::vector<Message> messages_;
  const char* wait_site_;
  std::vector<std::shared_ptr<void>> buffers_;
  std::vector<std::byte*> send_, receive_;
  int tag_;
  bool has_parts_in_place_ = false;
  std::list<Requests> sets_;                      // those in use first, then those used last
  std::vector<std::size_t> receive_requests_of_;  // end of each message's receives
  std::vector<std::size_t> send_requests_of_;
  std::int64_t sent_bytes_ = 0;
  // Slots are written, and the data received before has been read.
  device::Event ready_;
  bool in_flight_ = false, posted_ = false;
};

}  // namespace halocline::transport
