// SPDX-License-Identifier: Apache-2.0
#pragma once
// Notes to the user: a fallback, a default that matters, a clamped option.

#include <string>
#include <vector>

namespace halocline {

/// Collects notes, each once, in the order of their first addition. The library never prints; the
/// owner of the notes does.
class Notes {
 public:
  void add(const std::string& text);
  const std::vector<std::string>& all() const { return texts_; }

 private:
  std::vector<std::string> texts_;
};

}  // namespace halocline
