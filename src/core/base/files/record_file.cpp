// SPDX-License-Identifier: Apache-2.0
#include "base/files/record_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <thread>

#include <fmt/format.h>
#include <sys/file.h>

#include <halocline/error.hpp>

#include "base/files/temporary_file.hpp"

namespace halocline {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t largest_file = std::uintmax_t{16} << 20;

RecordFile other_file(std::string wrong) { return {{}, std::move(wrong), true}; }

RecordFile parse(const std::string& text, const RecordFormat& format) {
  const Json json = parse_json(text);
  if (json.is_discarded() || !json.is_object() || !json.contains("format") ||
      json["format"] != format.format || !json.contains(format.list) ||
      !json[format.list].is_array())
    return other_file(fmt::format("it is damaged, or not a file of {}", format.list));
  if (!json.contains("version") || json["version"] != format.version)
    return other_file("another version of Halocline wrote it");
  RecordFile file;
  for (const Json& record : json[format.list]) file.records.push_back(record);
  return file;
}

std::string text_of(const std::vector<Json>& records, const RecordFormat& format) {
  const Json all{{"format", format.format}, {"version", format.version}, {format.list, records}};
  return write_json(all, 2) + "\n";
}

/// Locks a folder against other writers: a folder, so that no lock file remains. Waits for a
/// limited time, and works only where the file system supports locks. Without the lock the last
/// writer wins, and its file is complete.
class Lock {
 public:
  explicit Lock(const fs::path& folder)
      : descriptor_(
            ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    const auto enough = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (descriptor_ >= 0 && ::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 &&
           (errno == EWOULDBLOCK || errno == EINTR) && std::chrono::steady_clock::now() < enough)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ~Lock() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int descriptor_;
};

}  // namespace

RecordFile read_records(const std::string& path, const RecordFormat& format) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) return {};
  if (error) return other_file(error.message());
  if (!fs::is_regular_file(status)) return other_file("it is not a regular file");
  const std::uintmax_t size = fs::file_size(path, error);
  if (!error && size > largest_file)
    return other_file(fmt::format("it is too large for a file of {}", format.list));
  std::ifstream file(path, std::ios::binary);
  if (!file) return other_file(std::generic_category().message(errno));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) return other_file("reading it failed");
  if (text.empty()) return {};
  return parse(text, format);
}

void change_records(const std::string& path, const RecordFormat& format, OtherFile other,
                    const std::function<std::vector<Json>(const RecordFile&)>& change) {
  const Lock lock(fs::path(path).parent_path());
  const RecordFile there = read_records(path, format);
  if (there.is_other && other == OtherFile::keep)
    throw Error(ErrorKind::usage, fmt::format("'{}' was not changed: {}", path, there.wrong));
  write_text_file(path, text_of(change(there), format));
}

}  // namespace halocline
