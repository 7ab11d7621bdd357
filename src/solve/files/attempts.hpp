// SPDX-License-Identifier: Apache-2.0
#pragma once
// Does several things of which none may be lost because another fails.

#include <functional>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include <halocline/error.hpp>

namespace halocline {

/// Keeps the errors of what was attempted, to throw them when all has been.
class Attempts {
 public:
  Attempts() = default;
  explicit Attempts(std::optional<Error> before) : error_(std::move(before)) {}

  /// Runs `work` whatever failed before, but nothing more after an error of communication: the
  /// other ranks may be gone, and would be waited for.
  void attempt(const std::function<void()>& work) {
    if (error_ && error_->kind() == ErrorKind::communication) return;
    try {
      work();
    } catch (const Error& error) {
      add(error);
    } catch (const std::bad_alloc&) {
      add(Error(ErrorKind::resource, "out of host memory"));
    } catch (const std::exception& error) {
      add(Error(ErrorKind::internal, error.what()));
    }
  }

  /// Returns one error with the texts of all. Its kind is that of the first, unless another reports
  /// a lost rank.
  const std::optional<Error>& error() const { return error_; }
  /// Throws it, if there is one.
  void finish() const {
    if (error_) throw Error(*error_);
  }

 private:
  void add(const Error& error) {
    const bool is_first = !error_ || error.kind() == ErrorKind::communication;
    error_ = Error(is_first ? error.kind() : error_->kind(),
                   error_ ? std::string(error_->what()) + "; " + error.what() : error.what());
  }

  std::optional<Error> error_;
};

}  // namespace halocline
