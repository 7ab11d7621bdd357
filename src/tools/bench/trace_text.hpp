// SPDX-License-Identifier: Apache-2.0
#pragma once
// Timelines for chrome://tracing and Perfetto.

#include <string>

namespace halocline::bench {

/// One bar of a rank's timeline.
struct TraceBar {
  std::string name, category;
  int rank = 0;
  int row = 0;  ///< of the rank's rows, from top to bottom
  double start_us = 0, us = 0;
  std::string arguments = {};  ///< members of a JSON object: "\"bytes\":8"
};

class TraceText {
 public:
  /// Starts the text with a process for each rank.
  explicit TraceText(int ranks);
  void add(const TraceBar& bar);
  std::string text() const { return text_ + "\n]}\n"; }

 private:
  void add_event(const std::string& event);

  std::string text_ = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
  const char* separator_ = "\n";
};

}  // namespace halocline::bench
