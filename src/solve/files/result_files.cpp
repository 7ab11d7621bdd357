// SPDX-License-Identifier: Apache-2.0
#include "files/result_files.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include <halocline/error.hpp>

#include "base/files/small_files.hpp"
#include "base/files/temporary_file.hpp"
#include "base/text/format.hpp"

namespace halocline {
namespace {

namespace fs = std::filesystem;

/// Where a file is, whatever its name; empty for what several files may be: /dev/null, a terminal.
fs::path place_of(const fs::path& name) {
  std::error_code error;
  const fs::path path = fs::absolute(name, error), place = fs::weakly_canonical(path, error);
  if (error) return path;
  return fs::is_character_file(place, error) ? fs::path() : place;
}

/// Whether `path`, wherever it is, has the name of one of the numbered files.
bool is_among(const ResultFile& result, const fs::path& path) {
  const std::string name = path.filename().string();
  const std::string before = fs::path(result.path).stem().string() + "-";
  if (!name.starts_with(before)) return false;
  std::int64_t number = -1;
  std::from_chars(name.data() + before.size(), name.data() + name.size(), number);
  return number >= 0 && number <= result.numbers->last &&
         name == fs::path(numbered(result.path, number)).filename().string();
}

/// Those of the numbered files that exist.
std::vector<fs::path> existing(const ResultFile& result) {
  std::vector<fs::path> paths = entries_of(folder_of(result.path));
  std::erase_if(paths, [&](const fs::path& path) { return !is_among(result, path); });
  return paths;
}

/// The name of a result, of numbered ones the first.
std::string first_of(const ResultFile& result) {
  return result.numbers ? numbered(result.path, 0) : result.path;
}

/// Where a result is written, as far as files show: of numbered ones those that exist.
std::vector<fs::path> places_of(const ResultFile& result) {
  std::vector<fs::path> places{place_of(first_of(result))};
  if (result.numbers)
    for (const fs::path& path : existing(result)) places.push_back(place_of(path));
  return places;
}

/// A result and where it is written.
struct Written {
  const ResultFile& result;
  std::vector<fs::path> places = places_of(result);
  fs::path folder = place_of(folder_of(result.path));

  bool has(const std::string& name) const {
    const fs::path place = place_of(name);
    if (place.empty()) return false;
    return std::find(places.begin(), places.end(), place) != places.end() ||
           (result.numbers && is_among(result, place) && place.parent_path() == folder);
  }
};

void require_name(const ResultFile& result) {
  if (result.path.empty())
    throw Error(ErrorKind::usage, fmt::format("{} is without a name; give one", result.option));
  if (result.path == "-")
    throw Error(ErrorKind::usage,
                fmt::format("{} cannot go to standard output; give the name of a file, './-' for "
                            "one with that name",
                            result.option));
}

void require_apart(const RunFiles& files) {
  std::vector<Written> others;
  for (const ResultFile& result : files.results) {
    const Written& one = others.emplace_back(Written{result});
    for (const UsedFile& used : files.used)
      if (used.replaced_by != result.option && one.has(used.path))
        throw Error(ErrorKind::usage,
                    fmt::format("{} would overwrite '{}', the file of {}; give another name",
                                result.option, used.path, used.option));
    for (const Written& other : others) {
      if (&other == &one) continue;
      const bool is_in_other = other.has(first_of(result));
      if (is_in_other || one.has(first_of(other.result)))
        throw Error(ErrorKind::usage,
                    fmt::format("{} and {} would both write '{}'; give each a name of its own",
                                other.result.option, result.option,
                                first_of(is_in_other ? result : other.result)));
    }
  }
}

/// The file that a result replaces stays until it is complete, so its space does not count; of
/// numbered ones only that of one.
void require_room(const ResultFile& result) {
  if (result.bytes == 0) return;
  const fs::path path = place_of(result.path);
  if (std::error_code error; path.empty() || fs::is_fifo(path, error)) return;
  const std::int64_t count = result.numbers ? result.numbers->fewest : 1;
  const auto refuse = [&](const std::string& reason) {
    throw Error(ErrorKind::resource,
                fmt::format("cannot write '{}', {}{}: {}", result.path,
                            count > 1 ? fmt::format("{} files of ", count) : "",
                            bytes_text(static_cast<double>(result.bytes)), reason));
  };
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      limit.rlim_cur < static_cast<rlim_t>(result.bytes))
    refuse(fmt::format("files may have {} here; raise the limit of the shell (ulimit -f)",
                       bytes_text(static_cast<double>(limit.rlim_cur))));
  struct statvfs disk {};
  // Some network file systems do not report their size.
  if (::statvfs(folder_of(path).c_str(), &disk) != 0 || disk.f_blocks == 0) return;
  const double free = static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize);
  const auto each = static_cast<double>(result.bytes);
  double needed = static_cast<double>(count) * each;
  if (count > 1)
    for (const fs::path& old : existing(result))
      if (std::error_code error; fs::is_regular_file(old, error))
        needed -= static_cast<double>(fs::file_size(old, error));
  needed = std::max(needed, each);
  if (free < needed)
    refuse(
        fmt::format("No space left on device: '{}' has {} free; free some space or write "
                    "elsewhere",
                    folder_of(path), bytes_text(free)));
}

}  // namespace

std::string numbered(const std::string& path, std::int64_t number) {
  const fs::path whole(path);
  return fs::path(whole)
      .replace_filename(
          fmt::format("{}-{:06}{}", whole.stem().string(), number, whole.extension().string()))
      .string();
}

void RunFiles::add_result(const std::string& option, const std::optional<std::string>& path,
                          std::int64_t bytes, const std::optional<Numbers>& numbers) {
  if (path)
    results.push_back({.option = option, .path = *path, .bytes = bytes, .numbers = numbers});
}

void RunFiles::add_used(const std::string& option, const std::optional<std::string>& path,
                        const std::string& replaced_by) {
  if (path) used.push_back({.option = option, .path = *path, .replaced_by = replaced_by});
}

void check(const RunFiles& files) {
  for (const ResultFile& result : files.results) {
    require_name(result);
    if (!result.numbers) {
      check_target(result.path);
      continue;
    }
    // Also the longest of the names.
    check_target(numbered(result.path, 0));
    check_target(numbered(result.path, result.numbers->last));
    for (const fs::path& path : existing(result))
      if (std::error_code error; !fs::is_regular_file(path, error))
        throw Error(ErrorKind::usage,
                    fmt::format("cannot write '{}': what has that name is no ordinary file; remove "
                                "it or give another name",
                                path.string()));
  }
  require_apart(files);
  for (const ResultFile& result : files.results) require_room(result);
}

}  // namespace halocline
