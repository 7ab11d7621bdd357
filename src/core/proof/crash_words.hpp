// SPDX-License-Identifier: Apache-2.0
#pragma once
// A message from a process that crashes in a test.

#include <string>

namespace halocline::proof {

/// While it exists, a segmentation fault or bus error writes these words to standard error before
/// the previous handler runs. One at a time per process.
class CrashWords {
 public:
  explicit CrashWords(const std::string& words);
  ~CrashWords();
  CrashWords(const CrashWords&) = delete;
  CrashWords& operator=(const CrashWords&) = delete;
};

}  // namespace halocline::proof
