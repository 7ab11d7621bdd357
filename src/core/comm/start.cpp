// SPDX-License-Identifier: Apache-2.0
#include "comm/start.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "base/files/small_files.hpp"
#include "base/process/launched.hpp"
#include "comm/collectives.hpp"
#include "comm/gate.hpp"

namespace halocline::comm {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> threads() { return entries_of("/proc/self/task"); }

/// Whether a thread waits for something, or has ended: "4711 (name) S ...", see proc(5).
bool sleeps(const fs::path& thread) {
  const std::string line = first_line(thread / "stat");
  const std::size_t name_end = line.rfind(") ");
  return name_end == std::string::npos || line[name_end + 2] != 'R';
}

void wait_until_asleep(const std::vector<fs::path>& some) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (!std::all_of(some.begin(), some.end(), sleeps) && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::microseconds(100));
}

}  // namespace

int start_mpi(int thread_level) {
  const std::vector<fs::path> earlier = threads();
  int provided = 0;
  check(MPI_Init_thread(nullptr, nullptr, thread_level, &provided), "MPI_Init_thread");
  if (family() != MpiFamily::open_mpi) return provided;
  std::vector<fs::path> started;
  std::ranges::set_difference(threads(), earlier, std::back_inserter(started));
  wait_until_asleep(started);
  return provided;
}

std::optional<std::string> why_alone() {
  int found = 0;
  check(MPI_Comm_size(MPI_COMM_WORLD, &found), "MPI_Comm_size");
  if (found > 1) return std::nullopt;
  const std::optional<Launched> launched = launched_by(current_variables());
  if (!launched || launched->size.value_or(1) <= 1) return std::nullopt;
  return fmt::format(
      "{} started {} ranks, but they do not find each other, so each would run alone: this "
      "Halocline was built with {}; start it with that MPI's launcher",
      launched->launcher, *launched->size, library_version());
}

}  // namespace halocline::comm
