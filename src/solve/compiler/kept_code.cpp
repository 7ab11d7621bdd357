// SPDX-License-Identifier: Apache-2.0
#include "compiler/kept_code.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/files/descriptor.hpp"
#include "base/hash.hpp"

namespace halocline::compiler {
namespace {

constexpr std::string_view suffix = ".kernel";
// A file begins with this line; the hash of what follows, the bytes of its key, key and content
// follow.
constexpr std::string_view first_line = "halocline kernel 1\n";
// No kernel takes more: what is longer is not read.
constexpr std::int64_t most_bytes_of_file = std::int64_t{64} << 20;
// A file that was begun so long ago belongs to a process that was killed.
constexpr std::time_t seconds_to_write = 3600;

/// Opens the folder if it is this user's alone; makes it if it is missing and `make` is set.
Descriptor open_folder(const std::string& path, bool make) {
  if (make) {
    std::error_code ignored;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
    ::mkdir(path.c_str(), 0700);  // or it is there
  }
  Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat facts {};
  const bool is_ours = folder.is_open() && ::fstat(folder.get(), &facts) == 0 &&
                       facts.st_uid == ::geteuid() && (facts.st_mode & 0077) == 0;
  return is_ours ? std::move(folder) : Descriptor();
}

bool read_all(int file, char* to, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t some = ::read(file, to, bytes);
    if (some <= 0) return false;
    to += some;
    bytes -= static_cast<std::size_t>(some);
  }
  return true;
}

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t some = ::write(file, text.data(), text.size());
    if (some <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(some));
  }
  return true;
}

struct Entry {
  std::string name;
  std::int64_t bytes;
  std::time_t used;
};

/// Lists kept files, and removes those that a killed process left half written.
std::vector<Entry> entries_in(const Descriptor& folder) {
  std::vector<Entry> all;
  const int again = ::openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(again < 0 ? nullptr : ::fdopendir(again),
                                                   [](DIR* one) { return ::closedir(one); });
  if (!stream) return all;
  while (const dirent* one = ::readdir(stream.get())) {
    const std::string name = one->d_name;
    struct stat facts {};
    if (name.find(suffix) == std::string::npos ||
        ::fstatat(folder.get(), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0)
      continue;
    if (name.ends_with(suffix))
      all.push_back({name, facts.st_size, facts.st_mtime});
    else if (facts.st_mtime + seconds_to_write < std::time(nullptr))
      ::unlinkat(folder.get(), name.c_str(), 0);
  }
  return all;
}

/// Removes the files that were not used for longest until three quarters of the room are taken.
void make_room(const Descriptor& folder, std::int64_t most_bytes) {
  std::vector<Entry> all = entries_in(folder);
  std::int64_t bytes = 0;
  for (const Entry& one : all) bytes += one.bytes;
  if (bytes <= most_bytes) return;
  std::sort(all.begin(), all.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (const Entry& one : all) {
    if (bytes <= most_bytes / 4 * 3) return;
    ::unlinkat(folder.get(), one.name.c_str(), 0);
    bytes -= one.bytes;
  }
}

std::string name_of(const std::string& key) { return content_hash(key) + std::string(suffix); }

}  // namespace

std::string content_hash(std::string_view text) {
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  const auto count = static_cast<std::int64_t>(text.size());
  constexpr std::int64_t elsewhere = std::int64_t{1} << 40;
  return fmt::format("{:016x}{:016x}", hash_of(bytes, count, 1),
                     hash_of(bytes, count, 1, elsewhere));
}

std::optional<std::string> folder_of_kept_code(const Variables& variables) {
  const std::string named = value_of(variables, "HALOCLINE_KERNELS");
  if (named == "off") return std::nullopt;
  if (!named.empty()) return named;
  // XDG base directory specification: relative paths must be ignored.
  const std::string cache = value_of(variables, "XDG_CACHE_HOME");
  if (cache.starts_with('/')) return cache + "/halocline/kernels";
  const std::string home = value_of(variables, "HOME");
  if (home.starts_with('/')) return home + "/.cache/halocline/kernels";
  return std::nullopt;
}

std::optional<std::string> KeptCode::find(const std::string& key) const noexcept try {
  const Descriptor folder = open_folder(folder_, false);
  if (!folder.is_open()) return std::nullopt;
  const Descriptor file(
      ::openat(folder.get(), name_of(key).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  struct stat facts {};
  if (!file.is_open() || ::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode) ||
      facts.st_uid != ::geteuid() || facts.st_size > most_bytes_of_file)
    return std::nullopt;
  std::string text(static_cast<std::size_t>(facts.st_size), '\0');
  if (!read_all(file.get(), text.data(), text.size())) return std::nullopt;
  const std::string body_begins = fmt::format("{}\n{}", key.size(), key);
  constexpr std::size_t hash_bytes = 33;
  const std::size_t head = first_line.size() + hash_bytes;
  if (!text.starts_with(first_line) || text.size() < head + body_begins.size()) return std::nullopt;
  const std::string_view body = std::string_view(text).substr(head);
  if (text.compare(first_line.size(), hash_bytes, content_hash(body) + "\n") != 0 ||
      !body.starts_with(body_begins))
    return std::nullopt;
  ::futimens(file.get(), nullptr);  // used now
  return std::string(body.substr(body_begins.size()));
} catch (const std::exception&) {
  return std::nullopt;
}

void KeptCode::keep(const std::string& key, const std::string& content) const noexcept try {
  const std::string body = fmt::format("{}\n{}{}", key.size(), key, content);
  if (static_cast<std::int64_t>(body.size()) > std::min(most_bytes_of_file, most_bytes_) / 4)
    return;
  const Descriptor folder = open_folder(folder_, true);
  if (!folder.is_open()) return;
  const std::string name = name_of(key);
  const std::string aside = fmt::format("{}.{}.{:x}", name, ::getpid(),
                                        mix(static_cast<std::uint64_t>(std::time(nullptr))));
  const Descriptor file(::openat(folder.get(), aside.c_str(),
                                 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.is_open()) return;
  const bool is_whole = write_all(file.get(), first_line) &&
                        write_all(file.get(), content_hash(body) + "\n") &&
                        write_all(file.get(), body);
  if (!is_whole || ::renameat(folder.get(), aside.c_str(), folder.get(), name.c_str()) != 0)
    ::unlinkat(folder.get(), aside.c_str(), 0);
  make_room(folder, most_bytes_);
} catch (const std::exception&) {
}

}  // namespace halocline::compiler
