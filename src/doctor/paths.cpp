#include "doctor/paths.hpp"

#include <fmt/format.h>

namespace halocline::doctor {

std::string word_of(const Path& path) {
  return fmt::format("{}:{}", path.transport, halocline::name_of(path.memory));
}

std::optional<Path> path_named(std::string_view word) {
  const std::size_t colon = word.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::optional<Memory> memory = memory_named(word.substr(colon + 1));
  if (!memory) return std::nullopt;
  return Path{std::string(word.substr(0, colon)), *memory};
}

std::string words_for(const Path& path) {
  if (path.transport == plain_mpi) return fmt::format("{} between two ranks", plain_mpi);
  return fmt::format("transport {} with {} memory", path.transport,
                     halocline::name_of(path.memory));
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
