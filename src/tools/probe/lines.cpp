// SPDX-License-Identifier: Apache-2.0
#include "probe/lines.hpp"

namespace halocline::probe {
namespace {

PathLines::Row& row_of(PathLines& lines, const Path& path) {
  for (PathLines::Row& row : lines.rows)
    if (row.result.path == path) return row;
  return lines.rows.emplace_back(PathLines::Row{.result = {.path = path}});
}

void read_path(const std::string& kind, const Json& content, PathLines& lines) {
  const std::optional<Path> path = path_named(content.at("path").get<std::string>());
  if (!path) return;
  PathLines::Row& row = row_of(lines, *path);
  PathResult& result = row.result;
  if (row.is_decided) return;  // the first rank's outcome counts
  if (kind == "pairs")
    for (const Json& name : content.at("kinds"))
      if (const auto pair = proof::gpu_pair_named(name.get<std::string>()))
        result.pairs.push_back(*pair);
  if (kind == "trying") result.tried.push_back(content.at("bytes"));
  if (kind == "in_order") result.in_order_up_to = content.at("bytes").get<std::int64_t>();
  if (kind == "arrived") content.at("bytes").get_to(result.arrived_bytes);
  if (kind == "arrived" && content.at("us").get<double>() > 0)
    result.times.push_back({content.at("bytes"), content.at("us")});
  if (kind != "outcome") return;
  const auto outcome = proof::outcome_named(content.at("is").get<std::string>());
  if (!outcome) return;
  result.outcome = *outcome;
  content.at("how").get_to(result.how);
  result.is_refused = content.value("refused", false);
  row.is_decided = true;
}

}  // namespace

std::string line_of(std::string_view kind, const Json& content) {
  return std::string(line_mark) + write_json(Json{{std::string(kind), content}});
}

void read_lines(std::string_view output,
                const std::function<void(const std::string&, const Json&)>& read) {
  for (std::size_t at = 0; at < output.size();) {
    const std::size_t end = output.find('\n', at);
    if (end == std::string_view::npos) break;
    std::string_view text = output.substr(at, end - at);
    at = end + 1;
    const std::size_t begin = text.find(line_mark);
    if (begin == std::string_view::npos) continue;
    text.remove_prefix(begin + line_mark.size());
    try {
      const Json json = Json::parse(text);
      for (const auto& [kind, content] : json.items()) read(kind, content);
    } catch (const std::exception&) {
      // Skips a line that two ranks wrote at once.
    }
  }
}

std::string pairs_line(const Path& path, const std::vector<GpuPair>& pairs) {
  std::vector<std::string> kinds;
  for (const GpuPair pair : pairs) kinds.emplace_back(proof::name_of(pair));
  return line_of("pairs", {{"path", word_of(path)}, {"kinds", kinds}});
}

std::string trying_line(const Path& path, std::int64_t bytes) {
  return line_of("trying", {{"path", word_of(path)}, {"bytes", bytes}});
}

std::string arrived_line(const Path& path, Time time) {
  return line_of("arrived", {{"path", word_of(path)}, {"bytes", time.bytes}, {"us", time.us}});
}

std::string in_order_line(const Path& path, std::int64_t bytes) {
  return line_of("in_order", {{"path", word_of(path)}, {"bytes", bytes}});
}

std::string outcome_line(const Path& path, Outcome outcome, const std::string& how, bool refused) {
  return line_of("outcome", {{"path", word_of(path)},
                             {"is", proof::name_of(outcome)},
                             {"how", how},
                             {"refused", refused}});
}

std::string ends_line() { return line_of("ends", true); }

PathLines read_paths(std::string_view output) {
  PathLines lines;
  read_lines(output, [&](const std::string& kind, const Json& content) {
    if (kind == "ends") lines.ended = true;
    const bool is_of_path = kind == "pairs" || kind == "trying" || kind == "arrived" ||
                            kind == "in_order" || kind == "outcome";
    if (is_of_path) read_path(kind, content, lines);
  });
  return lines;
}

}  // namespace halocline::probe
