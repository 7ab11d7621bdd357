#include "transport/mpi/mpi.hpp"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "comm/gate.hpp"

namespace halocline::transport {
namespace {

class MpiChannel final : public Channel {
 public:
  MpiChannel(const Communicator& communicator, std::vector<Message> messages)
      : communicator_(communicator), messages_(std::move(messages)) {
    const int tag = state().next_tag();
    send_.resize(messages_.size());
    receive_.resize(messages_.size());
    for (std::size_t m = 0; m < messages_.size(); ++m) {
      const Message& message = messages_[m];
      receive_[m] = buffer_for(message.receive);
      create(message.peer, tag, receive_[m], bytes_of(message.receive), MPI_Recv_init);
      receive_requests_of_.push_back(requests_.size());
    }
    for (std::size_t m = 0; m < messages_.size(); ++m) {
      const Message& message = messages_[m];
      send_[m] = buffer_for(message.send);
      sent_bytes_ += bytes_of(message.send);
      create(message.peer, tag, send_[m], bytes_of(message.send), MPI_Send_init);
      send_requests_of_.push_back(requests_.size());
    }
  }

  ~MpiChannel() override {
    if (in_flight_) abandon();
    for (MPI_Request& request : requests_) MPI_Request_free(&request);
  }

  Slots send_slots(std::size_t message) override { return {send_[message], send_[message]}; }
  Slots receive_slots(std::size_t message) override {
    return {receive_[message], receive_[message]};
  }

  void start(Stream) override {
    if (requests_.empty()) return;
    in_flight_ = true;
    comm::post(state(), "MPI_Startall", sent_bytes_,
               [&] { return MPI_Startall(static_cast<int>(requests_.size()), requests_.data()); });
  }

  bool progress() override {
    if (requests_.empty()) return true;
    int done = 0;
    comm::post(state(), "MPI_Testall", 0, [&] {
      return MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done,
                         MPI_STATUSES_IGNORE);
    });
    return done != 0;
  }

  void finish(Stream) override {
    if (requests_.empty()) return;
    comm::wait_all(state(), requests_,
                   {.site = "exchange, wait (mpi)", .missing = [this] { return missing(); }});
    in_flight_ = false;
  }

 private:
  comm::State& state() const { return communicator_.state(); }

  std::byte* buffer_for(const std::vector<Part>& parts) {
    if (void* memory = in_place(parts)) return static_cast<std::byte*>(memory);
    buffers_.emplace_back(static_cast<std::size_t>(bytes_of(parts)));
    return buffers_.back().data();
  }

  /// Makes the persistent requests of one message: MPI keeps the order of equal tags between two
  /// ranks, so the pieces of a large message need no tags of their own.
  template <class Init>
  void create(int peer, int tag, std::byte* bytes, std::int64_t count, Init init) {
    const std::int64_t piece = state().options().piece_bytes;
    std::int64_t at = 0;
    do {
      requests_.push_back(MPI_REQUEST_NULL);
      comm::check(init(bytes + at, static_cast<int>(std::min(piece, count - at)), MPI_BYTE, peer,
                       tag, state().all(), &requests_.back()),
                  "MPI_Send_init or MPI_Recv_init");
      at += piece;
    } while (at < count);
  }

  /// Takes back the receives of messages that have not come, lest they come into memory that is
  /// no longer there. What goes out may still be read: it stays.
  void abandon() {
    const std::size_t receives = receive_requests_of_.back();
    for (std::size_t r = 0; r < receives; ++r) {
      int done = 0;
      MPI_Request_get_status(requests_[r], &done, MPI_STATUS_IGNORE);
      if (done == 0) MPI_Cancel(&requests_[r]);
    }
    comm::keep_for_mpi(std::make_shared<decltype(buffers_)>(std::move(buffers_)));
  }

  /// Names the messages that have not come, or else those that have not been taken.
  std::string missing() {
    const std::string come = unfinished(0, receive_requests_of_);
    if (!come.empty() || messages_.empty()) return come;
    return unfinished(receive_requests_of_.back(), send_requests_of_) + " to take its message";
  }

  /// Names the messages of which not all requests are done; each one's end where `ends` says.
  std::string unfinished(std::size_t request, const std::vector<std::size_t>& ends) {
    std::string text;
    for (std::size_t m = 0; m < messages_.size(); ++m) {
      bool here = true;
      for (; request < ends[m]; ++request) {
        int done = 0;
        MPI_Request_get_status(requests_[request], &done, MPI_STATUS_IGNORE);
        here &= done != 0;
      }
      if (!here)
        text += fmt::format("{}rank {} ({})", text.empty() ? "" : " and ", messages_[m].peer,
                            messages_[m].label);
    }
    return text;
  }

  Communicator communicator_;
  std::vector<Message> messages_;
  std::vector<std::vector<std::byte>> buffers_;
  std::vector<std::byte*> send_, receive_;
  std::vector<MPI_Request> requests_;             // all receives, then all sends
  std::vector<std::size_t> receive_requests_of_;  // end of each message's receives
  std::vector<std::size_t> send_requests_of_;
  std::int64_t sent_bytes_ = 0;
  bool in_flight_ = false;
};

}  // namespace

std::optional<std::string> MpiTransport::unavailable(Pair) const { return std::nullopt; }

std::unique_ptr<Channel> MpiTransport::open(const Communicator& communicator,
                                            std::vector<Message> messages) const {
  return std::make_unique<MpiChannel>(communicator, std::move(messages));
}

}  // namespace halocline::transport
