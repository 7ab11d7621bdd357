// SPDX-License-Identifier: Apache-2.0
#pragma once
// Errors: what went wrong, in words a user can act on, and which of six kinds it is.

#include <stdexcept>
#include <string>

namespace halocline {

/// Says who can put it right; every door (C++, command line, later C, Fortran, Python) uses the
/// same six. The command line's exit codes follow from them: usage 2, unavailable 3, others 4.
enum class ErrorKind {
  usage,          ///< the caller asked for something that cannot be
  unavailable,    ///< possible, but not on this machine or in this build
  resource,       ///< memory, disk or files ran out
  communication,  ///< MPI failed, or a peer did not answer within the wait limit
  device,         ///< a GPU or its driver failed
  internal        ///< a fault of Halocline itself
};

/// The only exception type that the library throws on its own account.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const noexcept { return kind_; }

 private:
  ErrorKind kind_;
};

}  // namespace halocline
