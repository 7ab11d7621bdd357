// SPDX-License-Identifier: Apache-2.0
#include "cli/stop_requests.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/files/small_files.hpp"

namespace halocline::cli {
namespace {

std::filesystem::path request_in(const std::string& folder) {
  return std::filesystem::path(folder) / "stop";
}

}  // namespace

std::optional<std::string> checkpoint_folder(const SolveOptions& options) {
  if (options.checkpoint || !options.restart) return options.checkpoint;
  std::error_code ignored;
  return std::filesystem::is_directory(*options.restart, ignored) ? *options.restart
                                                                  : folder_of(*options.restart);
}

/// Does not wait for the disk, which may be the reason for the request. Ranks that have not made
/// the folder yet will find it with the request.
bool ask_to_stop(const std::string& folder, const std::string& reason) {
  const std::filesystem::path request = request_in(folder);
  const std::filesystem::path unfinished = std::filesystem::path(folder) / ".halocline-stop.tmp";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  std::ofstream(unfinished) << reason << "\n";
  std::filesystem::rename(unfinished, request, error);
  return !error;
}

void forget_request(const std::string& folder) {
  std::error_code ignored;
  std::filesystem::remove(request_in(folder), ignored);
}

StopRequests::StopRequests(const Communicator& world, std::string folder)
    : is_first_(world.rank() == 0), folder_(std::move(folder)) {}

std::string StopRequests::reason() const {
  if (std::string signal = StopSignals::noted(); !signal.empty()) return signal;
  const std::filesystem::path request = request_in(folder_);
  if (!is_first_ || ::access(request.c_str(), F_OK) != 0) return "";
  const std::string reason = first_line(request);
  return reason.empty() ? fmt::format("the file '{}'", request.string()) : reason;
}

}  // namespace halocline::cli
