// SPDX-License-Identifier: Apache-2.0
#pragma once
// Errors: a message that users can act on, and one of six kinds.

#include <stdexcept>
#include <string>

namespace halocline {

/// Classifies errors by who can fix them. C++, C, Fortran and the command line use the same six
/// kinds; the command line's exit codes follow from them: usage 2, unavailable 3, others 4.
enum class ErrorKind {
  usage,          ///< the request is invalid
  unavailable,    ///< valid, but not available on this machine or in this build
  resource,       ///< memory, disk or files ran out
  communication,  ///< MPI failed, or a peer did not answer within the wait limit
  device,         ///< a GPU or its driver failed
  internal        ///< a bug in Halocline
};

/// The only exception type that the library itself throws. what() states the problem, with values,
/// and a fix.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const noexcept { return kind_; }

 private:
  ErrorKind kind_;
};

}  // namespace halocline
