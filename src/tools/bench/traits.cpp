// SPDX-License-Identifier: Apache-2.0
#include "bench/traits.hpp"

#include <fmt/format.h>

#include "base/text/words.hpp"

namespace halocline::bench {

std::string text_of(const std::vector<std::pair<std::string, std::string>>& transports) {
  std::string text, all_the_same;
  bool differ = false;
  for (const auto& [pair, transport] : transports) {
    if (pair == "self" && transports.size() > 1) continue;
    differ |= !all_the_same.empty() && all_the_same != transport;
    all_the_same = transport;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", pair, transport);
  }
  return differ ? text : all_the_same;
}

void add_ranks(Report& report, int ranks, int nodes, const std::string& more) {
  report.add("ranks", "ranks", ranks,
             fmt::format("{} on {}{}", ranks, counted(nodes, "node"), more));
  report.add_json("nodes", nodes);
}

void add_devices(Report& report, const std::vector<RunDevice>& devices) {
  std::string names;
  for (const RunDevice& device : devices)
    if (names.find(device.name) == std::string::npos)
      names += (names.empty() ? "" : " and ") + device.name;
  report.add_text("runs on",
                  devices.size() > 1 ? fmt::format("{} x {}", devices.size(), names) : names);
  report.add_table(program::devices_table(devices));
}

}  // namespace halocline::bench
