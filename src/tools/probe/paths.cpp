// SPDX-License-Identifier: Apache-2.0
#include "probe/paths.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace halocline::probe {

namespace {

constexpr std::string_view between_nodes = "other-node";

/// A kind of memory and its allocator.
struct Kind {
  Memory memory = Memory::host;
  device::Allocator allocator = device::Allocator::ordinary;
};

std::optional<Kind> kind_named(std::string_view word) {
  if (word == "pool") return Kind{Memory::device, device::Allocator::pool};
  if (word == "vmm") return Kind{Memory::device, device::Allocator::virtual_memory};
  if (const std::optional<Memory> memory = memory_named(word)) return Kind{*memory};
  return std::nullopt;
}

}  // namespace

bool is_plain(const Path& path) {
  return std::find(std::begin(plain_ways), std::end(plain_ways), path.transport) !=
         std::end(plain_ways);
}

bool is_collective(const Path& path) {
  return std::find(std::begin(collectives), std::end(collectives), path.transport) !=
         std::end(collectives);
}

std::string_view memory_of(const Path& path) {
  if (path.allocator == device::Allocator::pool) return "pool";
  if (path.allocator == device::Allocator::virtual_memory) return "vmm";
  return halocline::name_of(path.memory);
}

std::string word_of(const Path& path) {
  const std::string word = fmt::format("{}:{}", path.transport, memory_of(path));
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
  const std::optional<Kind> kind = kind_named(rest);
  if (!kind) return std::nullopt;
  path.memory = kind->memory;
  path.allocator = kind->allocator;
  return path;
}

std::string words_for(const Path& path) {
  const bool far = path.distance == Distance::other_node;
  if (is_plain(path))
    return fmt::format("{} between two {}", path.transport, far ? "nodes" : "ranks");
  return fmt::format("{}{} with {} memory{}", is_collective(path) ? "" : "transport ",
                     path.transport, memory_of(path), far ? " between nodes" : "");
}

std::int64_t last_tried(const PathResult& result) {
  return result.tried.empty() ? 0 : result.tried.back();
}

bool is_for_few(const PathResult& result) {
  return result.path.memory == Memory::system && result.outcome == Outcome::unavailable;
}

std::string settings_text(const Variables& settings) {
  std::vector<std::string> words;
  for (const auto& [name, value] : settings) words.push_back(fmt::format("{}={}", name, value));
  return fmt::format("{}", fmt::join(words, " "));
}

std::optional<double> us_for(const PathResult& result, std::int64_t bytes) {
  for (const Time& time : result.times)
    if (time.bytes == bytes) return time.us;
  return std::nullopt;
}

std::vector<std::int64_t> sizes_to_time() { return {8, 4 << 10, 64 << 10, 1 << 20, 16 << 20}; }

std::vector<std::int64_t> sizes_to_prove() {
  return {8, 512, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20};
}

}  // namespace halocline::probe
