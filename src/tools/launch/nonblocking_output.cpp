// SPDX-License-Identifier: Apache-2.0
#include "launch/nonblocking_output.hpp"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/stat.h>

namespace halocline {

NonblockingOutput::NonblockingOutput(int descriptor) : descriptor_(descriptor) {
  struct stat status {};
  const bool can_write = (::fcntl(descriptor, F_GETFL) & O_ACCMODE) != O_RDONLY;
  if (::fstat(descriptor, &status) != 0 || S_ISREG(status.st_mode) || !can_write) return;
  if (S_ISSOCK(status.st_mode)) {
    kind_ = Kind::socket;
    return;
  }
  own_ = Descriptor(::open(fmt::format("/proc/self/fd/{}", descriptor).c_str(),
                           O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  // Opening again fails, for example, for a terminal of another user.
  if (own_.get() < 0) kind_ = Kind::polled_first;
}

/// Like write(2), but fails with EAGAIN instead of waiting.
long NonblockingOutput::write_some(std::string_view text) const {
  switch (kind_) {
    case Kind::socket:
      return ::send(descriptor_, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    case Kind::polled_first: {
      pollfd asked{descriptor_, POLLOUT, 0};
      if (::poll(&asked, 1, 0) == 0) {
        errno = EAGAIN;
        return -1;
      }
      return ::write(descriptor_, text.data(), std::min<std::size_t>(text.size(), PIPE_BUF));
    }
    case Kind::never_blocks:
      break;
  }
  return ::write(writable(), text.data(), text.size());
}

void NonblockingOutput::put(std::string_view text) {
  if (!is_open()) return;
  waiting_ += text;
  flush();
}

void NonblockingOutput::flush() {
  std::size_t done = 0;
  while (is_open() && done < waiting_.size()) {
    const long written = write_some(std::string_view(waiting_).substr(done));
    if (written > 0) done += static_cast<std::size_t>(written);
    if (written > 0 || (written < 0 && errno == EINTR)) continue;
    if (written == 0 || errno == EAGAIN || errno == EWOULDBLOCK) break;
    error_ = errno;  // no reader is left; the job continues
    descriptor_ = -1;
    done = waiting_.size();
  }
  waiting_.erase(0, done);
}

}  // namespace halocline
