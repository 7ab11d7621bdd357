// SPDX-License-Identifier: Apache-2.0
#include "base/result_files.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <system_error>
#include <tuple>

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <halocline/error.hpp>

#include "base/format.hpp"
#include "base/small_files.hpp"
#include "base/temporary_file.hpp"

namespace halocline {
namespace {

namespace fs = std::filesystem;

/// Where a file is, whatever its name: equal for links to one file. A file that does not exist yet
/// is a name in a folder.
struct Identity {
  dev_t device = 0;
  ino_t node = 0;
  std::string name = {};
  bool is_device = false;  ///< takes what several files have: /dev/null, a terminal

  bool operator==(const Identity& other) const {
    return std::tie(device, node, name) == std::tie(other.device, other.node, other.name);
  }
};

std::optional<Identity> identity_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0)
    return Identity{.device = status.st_dev,
                    .node = status.st_ino,
                    .is_device = S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode)};
  if (::stat(folder_of(path).c_str(), &status) != 0) return std::nullopt;
  return Identity{
      .device = status.st_dev, .node = status.st_ino, .name = fs::path(path).filename().string()};
}

/// A name and its file.
struct Written {
  std::string path;
  std::optional<Identity> file = identity_of(path);
};

bool are_one_file(const Written& a, const Written& b) {
  return a.file && b.file && !a.file->is_device && *a.file == *b.file;
}

/// Whether `path`, wherever it is, has the name of one of the numbered files.
bool is_among(const ResultFile& result, const fs::path& path) {
  const std::string name = path.filename().string();
  const std::string stem = fs::path(result.path).stem().string() + "-";
  const std::string extension = fs::path(result.path).extension().string();
  if (name.size() <= stem.size() + extension.size() || !name.starts_with(stem) ||
      !name.ends_with(extension))
    return false;
  const std::string digits = name.substr(stem.size(), name.size() - stem.size() - extension.size());
  if (digits.size() > 18 || digits.find_first_not_of("0123456789") != digits.npos) return false;
  const std::int64_t number = std::stoll(digits);
  return number <= result.numbers->last &&
         name == fs::path(numbered(result.path, number)).filename().string();
}

/// Those of the numbered files that exist.
std::vector<std::string> existing(const ResultFile& result) {
  std::vector<std::string> paths;
  std::error_code error;
  const fs::path folder = fs::path(result.path).parent_path();
  for (fs::directory_iterator entry(folder.empty() ? "." : folder, error), end;
       !error && entry != end; entry.increment(error))
    if (is_among(result, entry->path())) paths.push_back(folder / entry->path().filename());
  return paths;
}

/// The names of a result that another one could have: of numbered ones the first, those that exist,
/// and those that others are called.
std::vector<Written> written(const ResultFile& result, const RunFiles& files) {
  if (!result.numbers) return {{result.path}};
  std::vector<Written> all{{numbered(result.path, 0)}};
  for (const std::string& path : existing(result)) all.push_back({path});
  const auto add_if_among = [&](const fs::path& other) {
    if (is_among(result, other))
      all.push_back({fs::path(result.path).replace_filename(other.filename())});
  };
  for (const ResultFile& other : files.results)
    if (!other.numbers) add_if_among(other.path);
  for (const UsedFile& used : files.used) add_if_among(used.path);
  return all;
}

/// Returns the name of a file, with both names if they differ.
std::string both(const std::string& a, const std::string& b) {
  return a == b ? fmt::format("'{}'", a) : fmt::format("'{}' (also '{}')", a, b);
}

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
  std::vector<std::vector<Written>> names;
  for (const ResultFile& result : files.results) names.push_back(written(result, files));
  for (std::size_t i = 0; i < names.size(); ++i) {
    const ResultFile& result = files.results[i];
    for (std::size_t j = 0; j < i; ++j)
      for (const Written& other : names[j])
        for (const Written& one : names[i])
          if (are_one_file(other, one))
            throw Error(
                ErrorKind::usage,
                fmt::format("{} and {} would both write {}; give each a name of its own",
                            files.results[j].option, result.option, both(one.path, other.path)));
    for (const UsedFile& used : files.used) {
      if (used.replaced_by == result.option) continue;
      const Written file{used.path};
      for (const Written& one : names[i])
        if (are_one_file(file, one))
          throw Error(ErrorKind::usage,
                      fmt::format("{} would overwrite {} the file of {}; give another name",
                                  result.option, both(one.path, used.path), used.option));
    }
  }
}

/// Bytes of the regular files among these.
double bytes_of(const std::vector<std::string>& paths) {
  double bytes = 0;
  for (const std::string& path : paths) {
    std::error_code error;
    const std::uintmax_t size = fs::is_regular_file(path, error) ? fs::file_size(path, error) : 0;
    if (!error) bytes += static_cast<double>(size);
  }
  return bytes;
}

/// The file that a result replaces stays until it is complete, so its space does not count; of
/// numbered ones only that of one.
void require_room(const ResultFile& result) {
  struct stat status {};
  if (result.bytes == 0) return;
  std::error_code ignored;
  const fs::path real = fs::canonical(result.path, ignored);
  const fs::path path = real.empty() ? fs::path(result.path) : real;
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) return;
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
  if (count > 1) needed = std::max(each, needed - bytes_of(existing(result)));
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
    for (const std::string& path : existing(result))
      if (std::error_code error; !fs::is_regular_file(path, error))
        throw Error(ErrorKind::usage,
                    fmt::format("cannot write '{}': what has that name is no ordinary file; remove "
                                "it or give another name",
                                path));
  }
  require_apart(files);
  for (const ResultFile& result : files.results) require_room(result);
}

}  // namespace halocline
