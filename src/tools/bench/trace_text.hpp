// SPDX-License-Identifier: Apache-2.0
#pragma once
// Time lines as chrome://tracing and Perfetto read them.

#include <string>

namespace halocline::bench {

/// One bar of a rank's time line.
struct TraceBar {
  std::string name, category;
  int rank = 0;
  int row = 0;  ///< of the rank's rows, each below the other
  double start_us = 0, us = 0;
  std::string arguments = {};  ///< members of a JSON object: "\"bytes\":8"
};

class TraceText {
 public:
  /// Begins with a process for each rank.
  explicit TraceText(int ranks);
  void add(const TraceBar& bar);
  std::string text() const { return text_ + "\n]}\n"; }

 private:
  void add_event(const std::string& event);

  std::string text_ = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
  const char* separator_ = "\n";
};

}  // namespace halocline::bench
