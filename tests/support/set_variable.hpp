// SPDX-License-Identifier: Apache-2.0
#pragma once
// An environment variable that has another value for a while.

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "base/process/environment.hpp"

namespace halocline::test {

class SetVariable {
 public:
  SetVariable(std::string name, const std::string& value)
      : name_(std::move(name)), before_(environment(name_.c_str())) {
    ::setenv(name_.c_str(), value.c_str(), 1);
  }
  ~SetVariable() {
    if (before_)
      ::setenv(name_.c_str(), before_->c_str(), 1);
    else
      ::unsetenv(name_.c_str());
  }
  SetVariable(const SetVariable&) = delete;
  SetVariable& operator=(const SetVariable&) = delete;

 private:
  std::string name_;
  std::optional<std::string> before_;
};

}  // namespace halocline::test
