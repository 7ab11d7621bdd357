// SPDX-License-Identifier: Apache-2.0
#include "bench/trace_text.hpp"

#include <fmt/format.h>

namespace halocline::bench {

TraceText::TraceText(int ranks) {
  for (int rank = 0; rank < ranks; ++rank)
    add_event(fmt::format(
        R"({{"name":"process_name","ph":"M","pid":{0},"args":{{"name":"rank {0}"}}}})", rank));
}

void TraceText::add(const TraceBar& bar) {
  add_event(
      fmt::format(R"({{"name":"{}","cat":"{}","ph":"X","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},)"
                  R"("args":{{{}}}}})",
                  bar.name, bar.category, bar.rank, bar.row, bar.start_us, bar.us, bar.arguments));
}

void TraceText::add_event(const std::string& event) {
  text_ += separator_ + event;
  separator_ = ",\n";
}

}  // namespace halocline::bench
