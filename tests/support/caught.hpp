// SPDX-License-Identifier: Apache-2.0
#pragma once
// Errors as values, so that a test may look at them on every rank.

#include <optional>
#include <string>

#include <halocline/error.hpp>

namespace halocline::test {

/// An Error, or nothing: then `text` says so.
struct Caught {
  std::optional<ErrorKind> kind;
  std::string text = "no error";
};

template <class Work>
Caught caught(Work&& work) {
  try {
    work();
  } catch (const Error& error) {
    return {error.kind(), error.what()};
  }
  return {};
}

}  // namespace halocline::test
