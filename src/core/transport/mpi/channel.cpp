// SPDX-License-Identifier: Apache-2.0
#include "transport/mpi/channel.hpp"

#include <algorithm>
#include <utility>

#include "comm/gate.hpp"
#include "device/buffer.hpp"
#include "transport/wait_for_gpu.hpp"

namespace halocline::transport {

MpiChannel::MpiChannel(const Communicator& communicator, std::vector<Message> messages,
                       Memory slots, const char* wait_site)
    : communicator_(communicator), messages_(std::move(messages)), wait_site_(wait_site) {
  const int tag = state().next_tag();
  send_.resize(messages_.size());
  receive_.resize(messages_.size());
  for (std::size_t m = 0; m < messages_.size(); ++m) {
    const Message& message = messages_[m];
    receive_[m] = buffer_for(message.receive, slots);
    create(message.peer, tag, receive_[m], bytes_of(message.receive), MPI_Recv_init);
    receive_requests_of_.push_back(requests_.size());
  }
  for (std::size_t m = 0; m < messages_.size(); ++m) {
    const Message& message = messages_[m];
    send_[m] = buffer_for(message.send, slots);
    sent_bytes_ += bytes_of(message.send);
    create(message.peer, tag, send_[m], bytes_of(message.send), MPI_Send_init);
    send_requests_of_.push_back(requests_.size());
  }
}

MpiChannel::~MpiChannel() {
  if (posted_) abandon();
  if (comm::mpi_phase() != comm::MpiPhase::running) return;  // nor are there requests any more
  for (MPI_Request& request : requests_) MPI_Request_free(&request);
}

void MpiChannel::start(Stream stream) {
  if (requests_.empty()) return;
  in_flight_ = true;
  ready_.record(stream);
  if (ready_.reached())
    post();
  else
    enter();
}

void MpiChannel::move_on() {
  if (ready_.reached()) post();
}

void MpiChannel::post() {
  posted_ = true;
  leave();
  comm::post(state(), "MPI_Startall", sent_bytes_,
             [&] { return MPI_Startall(static_cast<int>(requests_.size()), requests_.data()); });
}

bool MpiChannel::progress() {
  if (!in_flight_) return true;
  if (!posted_ && ready_.reached()) post();
  return posted_ && all_done();
}

bool MpiChannel::all_done() {
  int done = 0;
  comm::post(state(), "MPI_Testall", 0, [&] {
    return MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done,
                       MPI_STATUSES_IGNORE);
  });
  return done != 0;
}

void MpiChannel::finish(Stream) {
  if (requests_.empty()) return;
  const comm::Wait wait{.site = wait_site_, .missing = [this] { return missing(); }};
  if (!posted_) {
    wait_for_gpu(state(), ready_);
    // Another wait may have posted it in the meantime, or this one.
    if (!posted_) post();
  }
  comm::wait_all(state(), requests_, wait);
  in_flight_ = posted_ = false;
}

std::byte* MpiChannel::buffer_for(const std::vector<Part>& parts, Memory memory) {
  if (void* in_user_memory = in_place(parts)) return static_cast<std::byte*>(in_user_memory);
  buffers_.push_back(device::allocate(memory, bytes_of(parts)));
  return static_cast<std::byte*>(buffers_.back().get());
}

/// Creates the persistent requests of one message: MPI keeps the order of equal tags between two
/// ranks, so the pieces of a large message need no separate tags.
template <class Init>
void MpiChannel::create(int peer, int tag, std::byte* bytes, std::int64_t count, Init init) {
  const std::int64_t piece = state().settings().piece_bytes;
  std::int64_t at = 0;
  do {
    requests_.push_back(MPI_REQUEST_NULL);
    comm::check(init(bytes + at, static_cast<int>(std::min(piece, count - at)), MPI_BYTE, peer, tag,
                     state().all(), &requests_.back()),
                "MPI_Send_init or MPI_Recv_init");
    at += piece;
  } while (at < count);
}

/// Cancels the receives of messages that have not arrived, so that none arrives in memory that has
/// been freed. Outgoing data may still be read: it is kept.
void MpiChannel::abandon() {
  const bool can_cancel = comm::mpi_phase() == comm::MpiPhase::running;
  const std::size_t receives = can_cancel ? receive_requests_of_.back() : 0;
  for (std::size_t r = 0; r < receives; ++r) {
    int done = 0;
    MPI_Request_get_status(requests_[r], &done, MPI_STATUS_IGNORE);
    if (done == 0) MPI_Cancel(&requests_[r]);
  }
  comm::keep_for_mpi(std::make_shared<decltype(buffers_)>(std::move(buffers_)));
}

/// Names the messages that have not arrived, or else those that have not been received. Empty if
/// all have, since the last poll.
std::string MpiChannel::missing() {
  if (messages_.empty()) return "the other ranks";
  const std::string come = unfinished(0, receive_requests_of_);
  if (!come.empty()) return come;
  const std::string taken = unfinished(receive_requests_of_.back(), send_requests_of_);
  return taken.empty() ? "" : taken + " to take its message";
}

/// Names the messages with unfinished requests; `ends` has the end of each message's requests.
std::string MpiChannel::unfinished(std::size_t request, const std::vector<std::size_t>& ends) {
  std::string text;
  for (std::size_t m = 0; m < messages_.size(); ++m) {
    bool here = true;
    for (; request < ends[m]; ++request) {
      int done = 0;
      MPI_Request_get_status(requests_[request], &done, MPI_STATUS_IGNORE);
      here &= done != 0;
    }
    if (!here) add_peer(text, " and ", messages_[m]);
  }
  return text;
}

}  // namespace halocline::transport
