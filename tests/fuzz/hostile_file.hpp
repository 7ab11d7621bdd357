// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bytes of a fuzzer as a file, and what must be true of a reader's errors.

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <sys/mman.h>

#include <halocline/error.hpp>

namespace halocline::test {

/// A file in memory, the same for every input of a process.
class HostileFile {
 public:
  HostileFile() : descriptor_(::memfd_create("hostile", MFD_CLOEXEC)) {
    if (descriptor_ < 0) std::abort();
  }
  const std::string& put(const std::string& bytes) {
    if (::ftruncate(descriptor_, 0) != 0 ||
        ::pwrite(descriptor_, bytes.data(), bytes.size(), 0) != std::ssize(bytes))
      std::abort();
    return path_;
  }

 private:
  int descriptor_;
  std::string path_ = "/proc/self/fd/" + std::to_string(descriptor_);
};

/// Ends the program for an error that is not the file's, or says too much. Any other exception ends
/// it, too. Control characters of the file may be in an error: the command prints none.
template <class Read>
void refused_or_read(const Read& read) {
  const auto fail = [](const char* what, const std::string& text) {
    std::fprintf(stderr, "%s: %s\n", what, text.c_str());
    std::abort();
  };
  try {
    read();
  } catch (const Error& error) {
    const std::string text = error.what();
    if (error.kind() != ErrorKind::usage) fail("an error of another kind", text);
    if (text.size() > 4096) fail("a long error", text);
  }
}

}  // namespace halocline::test
