#include "doctor/paths.hpp"

#include <fmt/format.h>

namespace halocline::doctor {

namespace {

constexpr std::string_view between_nodes = "other-node";

}  // namespace

std::string word_of(const Path& path) {
  const std::string word = fmt::format("{}:{}", path.transport, halocline::name_of(path.memory));
  return path.distance == Distance::same_node ? word : fmt::format("{}:{}", word, between_nodes);
}

std::optional<Path> path_named(std::string_view word) {
  const std::size_t colon = word.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view rest = word.substr(colon + 1);
  Path path{.transport = std::string(word.substr(0, colon))};
  if (const std::size_t second = rest.find(':'); second != std::string_view::npos) {
    if (rest.substr(second + 1) != between_nodes) return std::nullopt;
    path.distance = Distance::other_node;
    rest = rest.substr(0, second);
  }
  const std::optional<Memory> memory = memory_named(rest);
  if (!memory) return std::nullopt;
  path.memory = *memory;
  return path;
}

std::string words_for(const Path& path) {
  const bool far = path.distance == Distance::other_node;
  if (path.transport == plain_mpi)
    return fmt::format("{} between two {}", plain_mpi, far ? "nodes" : "ranks");
  return fmt::format("transport {} with {} memory{}", path.transport,
                     halocline::name_of(path.memory), far ? " between nodes" : "");
}

std::string_view name_of(Outcome outcome) {
  constexpr std::string_view names[] = {"works", "wrong", "failed", "unavailable", "untried"};
  return names[static_cast<std::size_t>(outcome)];
}

std::optional<double> us_for(const PathResult& result, std::int64_t bytes) {
  for (const Time& time : result.times)
    if (time.bytes == bytes) return time.us;
  return std::nullopt;
}

std::vector<std::int64_t> sizes_to_time() { return {8, 4 << 10, 64 << 10, 1 << 20, 16 << 20}; }

}  // namespace halocline::doctor
