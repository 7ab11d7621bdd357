// SPDX-License-Identifier: Apache-2.0
#include "transport/mpi/channel.hpp"

#include <algorithm>
#include <utility>

#include "comm/gate.hpp"
#include "device/buffer.hpp"
#include "transport/wait_for_gpu.hpp"

namespace halocline::transport {
namespace {

// Of arrays at different addresses. A new set takes MPI less than a microsecond for each request.
constexpr std::size_t most_sets = 4;

void free_all(std::vector<MPI_Request>& requests) {
  for (MPI_Request& request : requests)
    if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
}

}  // namespace

MpiChannel::MpiChannel(const Communicator& communicator, std::vector<Message> messages,
                       Memory slots, const char* wait_site)
    : communicator_(communicator),
      messages_(std::move(messages)),
      wait_site_(wait_site),
      tag_(state().next_tag()) {
  for (const Message& message : messages_) {
    receive_.push_back(buffer_for(message.receive, slots));
    send_.push_back(buffer_for(message.send, slots));
    sent_bytes_ += bytes_of(message.send);
  }
  std::size_t requests = 0;
  for (const Message& message : messages_)
    receive_requests_of_.push_back(requests += pieces_of(message.receive));
  for (const Message& message : messages_)
    send_requests_of_.push_back(requests += pieces_of(message.send));
  sets_.push_back(make_requests({}));
}

MpiChannel::~MpiChannel() {
  if (posted_) abandon();
  if (comm::mpi_phase() != comm::MpiPhase::running) return;  // nor are there requests any more
  for (Requests& one : sets_) free_all(one.all);
}

MpiChannel::Requests MpiChannel::make_requests(std::span<const std::int64_t> of_arrays) const {
  Requests made{.shifts = {of_arrays.begin(), of_arrays.end()}, .all = {}};
  try {
    for (std::size_t m = 0; m < messages_.size(); ++m) {
      const std::vector<Part>& parts = messages_[m].receive;
      create(made.all, messages_[m].peer, receive_[m] + shift_of(parts, of_arrays), bytes_of(parts),
             MPI_Recv_init);
    }
    for (std::size_t m = 0; m < messages_.size(); ++m) {
      const std::vector<Part>& parts = messages_[m].send;
      create(made.all, messages_[m].peer, send_[m] + shift_of(parts, of_arrays), bytes_of(parts),
             MPI_Send_init);
    }
  } catch (const Error&) {
    free_all(made.all);
    throw;
  }
  return made;
}

void MpiChannel::shift(std::span<const std::int64_t> of_arrays) {
  if (!has_parts_in_place_) return;
  const auto known = std::find_if(sets_.begin(), sets_.end(), [&](const Requests& one) {
    return std::equal(one.shifts.begin(), one.shifts.end(), of_arrays.begin(), of_arrays.end());
  });
  if (known != sets_.end()) return sets_.splice(sets_.begin(), sets_, known);
  sets_.push_front(make_requests(of_arrays));
  if (sets_.size() <= most_sets) return;
  free_all(sets_.back().all);
  sets_.pop_back();
}

void MpiChannel::start(Stream stream) {
  if (requests().empty()) return;
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
             [&] { return MPI_Startall(static_cast<int>(requests().size()), requests().data()); });
}

bool MpiChannel::progress() {
  if (!in_flight_) return true;
  if (!posted_ && ready_.reached()) post();
  return posted_ && all_done();
}

bool MpiChannel::all_done() {
  int done = 0;
  comm::post(state(), "MPI_Testall", 0, [&] {
    return MPI_Testall(static_cast<int>(requests().size()), requests().data(), &done,
                       MPI_STATUSES_IGNORE);
  });
  return done != 0;
}

void MpiChannel::finish(Stream) {
  if (requests().empty()) return;
  const comm::Wait wait{.site = wait_site_, .missing = [this] { return missing(); }};
  if (!posted_) {
    wait_for_gpu(state(), ready_);
    // Another wait may have posted it in the meantime, or this one.
    if (!posted_) post();
  }
  comm::wait_all(state(), requests(), wait);
  in_flight_ = posted_ = false;
}

std::byte* MpiChannel::buffer_for(const std::vector<Part>& parts, Memory memory) {
  if (void* in_user_memory = in_place(parts)) {
    has_parts_in_place_ = true;
    return static_cast<std::byte*>(in_user_memory);
  }
  buffers_.push_back(device::allocate(memory, bytes_of(parts)));
  return static_cast<std::byte*>(buffers_.back().get());
}

/// Returns how many requests some parts take: at least one, which signals.
std::size_t MpiChannel::pieces_of(const std::vector<Part>& parts) const {
  const std::int64_t piece = state().settings().piece_bytes;
  return static_cast<std::size_t>(std::max<std::int64_t>(1, (bytes_of(parts) + piece - 1) / piece));
}

/// Adds the persistent requests of one message: MPI keeps the order of equal tags between two
/// ranks, so the pieces of a large message need no separate tags.
template <class Init>
void MpiChannel::create(std::vector<MPI_Request>& requests, int peer, std::byte* bytes,
                        std::int64_t count, Init init) const {
  const std::int64_t piece = state().settings().piece_bytes;
  std::int64_t at = 0;
  do {
    requests.push_back(MPI_REQUEST_NULL);
    comm::check(init(bytes + at, static_cast<int>(std::min(piece, count - at)), MPI_BYTE, peer,
                     tag_, state().all(), &requests.back()),
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
    MPI_Request_get_status(requests()[r], &done, MPI_STATUS_IGNORE);
    if (done == 0) MPI_Cancel(&requests()[r]);
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
      MPI_Request_get_status(requests()[request], &done, MPI_STATUS_IGNORE);
      here &= done != 0;
    }
    if (!here) add_peer(text, " and ", messages_[m]);
  }
  return text;
}

}  // namespace halocline::transport
