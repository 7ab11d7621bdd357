// SPDX-License-Identifier: Apache-2.0
#pragma once
// Errors as values, so that a test may look at them on every rank.

#include <optional>
#include <ostream>
#include <string>
#include <type_traits>

#include <gmock/gmock.h>

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

/// What googletest prints of one.
inline void PrintTo(const Caught& caught, std::ostream* out) {
  *out << (caught.kind ? "of kind " + std::to_string(static_cast<int>(*caught.kind)) + ": " : "")
       << caught.text;
}

/// Matches an error of this kind whose text has these words, or matches.
template <class... Parts>
auto says(ErrorKind kind, const Parts&... parts) {
  const auto part = [](const auto& one) {
    if constexpr (std::is_convertible_v<decltype(one), std::string>)
      return testing::HasSubstr(std::string(one));
    else
      return one;
  };
  return testing::AllOf(testing::Field(&Caught::kind, testing::Optional(kind)),
                        testing::Field(&Caught::text, part(parts))...);
}

}  // namespace halocline::test
