// SPDX-License-Identifier: Apache-2.0
#include "device/descriptors.hpp"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <halocline/error.hpp>

#include "base/files/descriptor.hpp"

namespace halocline::device {
namespace {

using Limit = std::chrono::duration<double>;

// A process that connects sends its request at once.
constexpr timeval longest_question{.tv_sec = 1, .tv_usec = 0};
constexpr int connections_waiting = 128;

[[noreturn]] void fail(const std::string& what, int error) {
  throw Error(ErrorKind::device,
              fmt::format("{}: {}", what, std::generic_category().message(error)));
}

Descriptor make_socket() {
  const int number = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (number < 0) fail("could not create a Unix socket", errno);
  return Descriptor(number);
}

/// A byte, with or without a descriptor.
struct Parcel {
  char byte = 0;
  iovec bytes{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};

  Parcel() {
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
  }
  void put(int descriptor) {
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
  }
  int take() {
    const cmsghdr* const header = CMSG_FIRSTHDR(&message);
    if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return -1;
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(header), sizeof(int));
    return descriptor;
  }
};

bool is_ours(int connection) {
  ucred other{};
  socklen_t length = sizeof(other);
  return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &other, &length) == 0 &&
         other.uid == geteuid();
}

std::uint64_t random_key() {
  std::uint64_t key = 0;
  if (getrandom(&key, sizeof(key), 0) != sizeof(key)) fail("getrandom failed", errno);
  return key;
}

}  // namespace

/// The socket, and the thread that answers requests, for all offers of the process.
class OfferedDescriptor::Giver {
 public:
  static std::shared_ptr<Giver> get() {
    // Never destroyed, since memory that is kept to the end of the program is released after it.
    static auto& only = *new std::pair<std::mutex, std::weak_ptr<Giver>>();
    const std::lock_guard lock(only.first);
    std::shared_ptr<Giver> giver = only.second.lock();
    if (giver == nullptr) only.second = giver = std::make_shared<Giver>();
    return giver;
  }

  Giver() : listening_(make_socket()), ending_(eventfd(0, EFD_CLOEXEC)) {
    if (ending_.get() < 0) fail("could not create an eventfd", errno);
    // Without a name Linux chooses a free one.
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (bind(listening_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(sa_family_t)) != 0 ||
        listen(listening_.get(), connections_waiting) != 0)
      fail("could not open a Unix socket", errno);
    socklen_t length = sizeof(address);
    if (getsockname(listening_.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0)
      fail("a Unix socket has no name", errno);
    const std::size_t letters = length - offsetof(sockaddr_un, sun_path) - 1;
    if (letters >= sizeof(name_)) fail("a Unix socket has a long name", ENAMETOOLONG);
    std::memcpy(name_, address.sun_path + 1, letters);

    // Signals are for the program's own threads.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      thread_ = std::thread([this] { answer_all(); });
    } catch (const std::system_error& error) {
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
      fail("could not start a thread", error.code().value());
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  ~Giver() {
    eventfd_write(ending_.get(), 1);
    thread_.join();
  }

  DescriptorName offer(int descriptor) {
    DescriptorName name{};
    std::memcpy(name.socket, name_, sizeof(name_));
    name.key = random_key();
    const std::lock_guard lock(mutex_);
    offers_[name.key] = descriptor;
    return name;
  }
  void withdraw(const DescriptorName& name) {
    const std::lock_guard lock(mutex_);
    offers_.erase(name.key);
  }

 private:
  void answer_all() {
    for (;;) {
      std::array<pollfd, 2> ready{pollfd{listening_.get(), POLLIN, 0},
                                  pollfd{ending_.get(), POLLIN, 0}};
      if (poll(ready.data(), ready.size(), -1) < 0 && errno != EINTR) return;
      if (ready[1].revents != 0) return;
      if (ready[0].revents == 0) continue;
      const Descriptor connection(accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (connection.get() >= 0 && is_ours(connection.get())) answer(connection.get());
    }
  }

  /// Without an answer, the other side sees the connection close.
  void answer(int connection) {
    for (const int direction : {SO_RCVTIMEO, SO_SNDTIMEO})
      setsockopt(connection, SOL_SOCKET, direction, &longest_question, sizeof(longest_question));
    std::uint64_t key = 0;
    if (recv(connection, &key, sizeof(key), 0) != sizeof(key)) return;
    // Locked while it is sent, so that no thread closes it.
    const std::lock_guard lock(mutex_);
    const auto offer = offers_.find(key);
    if (offer == offers_.end()) return;
    Parcel parcel;
    parcel.put(offer->second);
    sendmsg(connection, &parcel.message, MSG_NOSIGNAL);
  }

  Descriptor listening_, ending_;
  char name_[sizeof(DescriptorName::socket)]{};
  std::mutex mutex_;
  std::map<std::uint64_t, int> offers_;
  std::thread thread_;
};

OfferedDescriptor::OfferedDescriptor(int descriptor) : descriptor_(descriptor) {
  Descriptor ours(descriptor);
  giver_ = Giver::get();
  name_ = giver_->offer(descriptor);
  ours.release();
}

OfferedDescriptor::~OfferedDescriptor() {
  giver_->withdraw(name_);
  close(descriptor_);
}

int fetch_descriptor(const DescriptorName& name, Limit limit) {
  const Descriptor connection = make_socket();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t letters = strnlen(name.socket, sizeof(name.socket));
  std::memcpy(address.sun_path + 1, name.socket, letters);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + letters);
  // With too many waiting requests, connecting blocks, with the time limit of sending.
  const auto whole = std::chrono::duration_cast<std::chrono::microseconds>(limit).count();
  const timeval longest{.tv_sec = whole / 1'000'000, .tv_usec = whole % 1'000'000};
  for (const int direction : {SO_RCVTIMEO, SO_SNDTIMEO})
    setsockopt(connection.get(), SOL_SOCKET, direction, &longest, sizeof(longest));

  constexpr auto gone = "the process that owns the memory is gone, or in another network namespace";
  int failed = 0;
  do failed = connect(connection.get(), reinterpret_cast<sockaddr*>(&address), length);
  while (failed != 0 && errno == EINTR);
  if (failed != 0)
    fail(errno == ECONNREFUSED ? gone : "cannot connect to the process that owns the memory",
         errno);
  if (send(connection.get(), &name.key, sizeof(name.key), MSG_NOSIGNAL) != sizeof(name.key))
    fail(gone, errno);
  Parcel parcel;
  ssize_t got = 0;
  do got = recvmsg(connection.get(), &parcel.message, MSG_CMSG_CLOEXEC);
  while (got < 0 && errno == EINTR);
  if (got < 0)
    fail(errno == EAGAIN
             ? fmt::format("the process that owns the memory has not answered for {:g} s",
                           limit.count())
             : std::string("the process that owns the memory does not answer"),
         errno);
  const int descriptor = got > 0 ? parcel.take() : -1;
  if (descriptor < 0)
    throw Error(ErrorKind::device,
                "the process that owns the memory did not send its file descriptor: it has "
                "released the memory, belongs to another user, or is gone");
  return descriptor;
}

}  // namespace halocline::device
