// SPDX-License-Identifier: Apache-2.0
#pragma once
// File descriptors.

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace halocline {

/// Owns a file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) close();
    number_ = other.release();
    return *this;
  }

  int get() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  int release() { return std::exchange(number_, -1); }
  /// Closes the descriptor and returns 0 or an errno. It is closed even if a signal interrupted the
  /// call.
  int close() {
    if (!is_open()) return 0;
    return ::close(release()) != 0 && errno != EINTR ? errno : 0;
  }

 private:
  int number_;
};

}  // namespace halocline
