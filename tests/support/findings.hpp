// SPDX-License-Identifier: Apache-2.0
#pragma once
// What doctor finds, as tests expect it.

#include <gmock/gmock.h>

#include "doctor/findings.hpp"

namespace halocline::test {

/// Matches a finding of this severity with these words in its texts.
inline auto finding(doctor::Severity severity, const char* what, const char* seen = "",
                    const char* fix = "") {
  using doctor::Finding;
  using testing::Field;
  using testing::HasSubstr;
  return testing::AllOf(Field(&Finding::severity, severity), Field(&Finding::what, HasSubstr(what)),
                        Field(&Finding::seen, HasSubstr(seen)),
                        Field(&Finding::fix, HasSubstr(fix)));
}

inline auto broken(const char* what, const char* seen = "", const char* fix = "") {
  return finding(doctor::Severity::broken, what, seen, fix);
}
inline auto slow(const char* what, const char* seen = "", const char* fix = "") {
  return finding(doctor::Severity::slow, what, seen, fix);
}
inline auto note(const char* what, const char* seen = "", const char* fix = "") {
  return finding(doctor::Severity::note, what, seen, fix);
}
inline auto untested(const char* what, const char* seen = "", const char* fix = "") {
  return finding(doctor::Severity::untested, what, seen, fix);
}
inline auto absent(const char* what, const char* seen = "", const char* fix = "") {
  return finding(doctor::Severity::absent, what, seen, fix);
}

/// Of this evidence, these findings and no others.
#define EXPECT_FOUND(evidence, ...) \
  EXPECT_THAT(doctor::findings(evidence), testing::ElementsAre(__VA_ARGS__))

}  // namespace halocline::test
