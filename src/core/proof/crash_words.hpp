// SPDX-License-Identifier: Apache-2.0
#pragma once
// Last words of a process that dies of something it tried.

#include <string>

namespace halocline::proof {

/// While it lives, a segmentation fault or bus error writes these words to standard error before
/// it goes where it went before. One at a time in a process.
class CrashWords {
 public:
  explicit CrashWords(const std::string& words);
  ~CrashWords();
  CrashWords(const CrashWords&) = delete;
  CrashWords& operator=(const CrashWords&) = delete;
};

}  // namespace halocline::proof
