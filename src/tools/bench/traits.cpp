// SPDX-License-Identifier: Apache-2.0
#include "bench/traits.hpp"

#include <fmt/format.h>

namespace halocline::bench {

Value or_unknown(const std::optional<double>& value) { return value ? Value(*value) : Value(); }

std::vector<std::int64_t> list_of(const Extents& extents) {
  std::vector<std::int64_t> list;
  for (int axis = 0; axis < extents.axes(); ++axis) list.push_back(extents[axis]);
  return list;
}

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

void add_devices(Report& report, const std::vector<RunDevice>& devices) {
  Table table{.key = "devices",
              .title = "",
              .columns = {{"kind", "kind"},
                          {"name", "name"},
                          {"uuid", "uuid"},
                          {"host", "host"},
                          {"ranks", "ranks"}},
              .audience = Audience::json};
  std::string names;
  for (const RunDevice& device : devices) {
    const bool gpu = device.kind == "gpu";
    table.add({device.kind, device.name, gpu ? Value(device.uuid) : Value(),
               gpu ? Value(device.host) : Value(), device.ranks});
    if (names.find(device.name) == std::string::npos)
      names += (names.empty() ? "" : " and ") + device.name;
  }
  report.add_text("runs on",
                  devices.size() > 1 ? fmt::format("{} x {}", devices.size(), names) : names);
  report.add_table(std::move(table));
}

}  // namespace halocline::bench
