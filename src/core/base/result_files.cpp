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

bool are_one_file(const std::string& a, const std::string& b) {
  const std::optional<Identity> first = identity_of(a), second = identity_of(b);
  return first && second && !first->is_device && *first == *second;
}

/// Says it with both names, should they differ.
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
  for (std::size_t i = 0; i < files.results.size(); ++i) {
    const ResultFile& result = files.results[i];
    for (std::size_t j = 0; j < i; ++j)
      if (are_one_file(files.results[j].path, result.path))
        throw Error(ErrorKind::usage,
                    fmt::format("{} and {} would both write {}; give each a name of its own",
                                files.results[j].option, result.option,
                                both(result.path, files.results[j].path)));
    for (const UsedFile& used : files.used)
      if (used.replaced_by != result.option && are_one_file(used.path, result.path))
        throw Error(ErrorKind::usage,
                    fmt::format("{} would overwrite {} the file of {}; give another name",
                                result.option, both(result.path, used.path), used.option));
  }
}

/// The file that a result replaces stays until it is complete, so its space does not count.
void require_room(const ResultFile& result) {
  struct stat status {};
  if (result.bytes == 0) return;
  std::error_code ignored;
  const fs::path real = fs::canonical(result.path, ignored);
  const fs::path path = real.empty() ? fs::path(result.path) : real;
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) return;
  const auto refuse = [&](const std::string& reason) {
    throw Error(ErrorKind::resource,
                fmt::format("cannot write '{}', {}: {}", result.path,
                            bytes_text(static_cast<double>(result.bytes)), reason));
  };
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      limit.rlim_cur < static_cast<rlim_t>(result.bytes))
    refuse(fmt::format("files may have {} here; raise the limit of the shell (ulimit -f)",
                       bytes_text(static_cast<double>(limit.rlim_cur))));
  struct statvfs disk {};
  // Some network file systems do not say how large they are.
  if (::statvfs(folder_of(path).c_str(), &disk) != 0 || disk.f_blocks == 0) return;
  const double free = static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize);
  if (free < static_cast<double>(result.bytes))
    refuse(
        fmt::format("No space left on device: '{}' has {} free; free some space or write "
                    "elsewhere",
                    folder_of(path), bytes_text(free)));
}

}  // namespace

void RunFiles::add_result(const std::string& option, const std::optional<std::string>& path,
                          std::int64_t bytes) {
  if (path) results.push_back({.option = option, .path = *path, .bytes = bytes});
}

void RunFiles::add_used(const std::string& option, const std::optional<std::string>& path,
                        const std::string& replaced_by) {
  if (path) used.push_back({.option = option, .path = *path, .replaced_by = replaced_by});
}

void check(const RunFiles& files) {
  for (const ResultFile& result : files.results) {
    require_name(result);
    check_target(result.path);
  }
  require_apart(files);
  for (const ResultFile& result : files.results) require_room(result);
}

}  // namespace halocline
