// SPDX-License-Identifier: Apache-2.0
#pragma once
// Things a user should know but did not ask: a fallback, a default that matters, a clamped option.

#include <string>
#include <vector>

namespace halocline {

/// Collects each remark once, in the order first made. The library never prints; whoever owns
/// the notes does.
class Notes {
 public:
  void add(const std::string& text);
  const std::vector<std::string>& all() const { return texts_; }

 private:
  std::vector<std::string> texts_;
};

}  // namespace halocline
