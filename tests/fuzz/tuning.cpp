// SPDX-License-Identifier: Apache-2.0
// Tuning files: what is kept in one is found again, or a note says why not. scripts/fuzz runs it.

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <halocline/communicator.hpp>

#include "base/text/notes.hpp"
#include "solver/engine/tuning_file.hpp"

namespace {

using namespace halocline;

/// MPI, and a folder in memory, since records are replaced by new files.
struct Session {
  Session() {
    MPI_Init(nullptr, nullptr);
    if (::mkdtemp(folder.data()) == nullptr) std::abort();
  }
  ~Session() {
    std::filesystem::remove_all(folder);
    MPI_Finalize();
  }
  std::string folder = "/dev/shm/fuzz-tuning-XXXXXX";
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Session session;
  static const Communicator self = Communicator::self();
  const std::string path = session.folder + "/tuning.json";
  std::ofstream(path, std::ios::binary) << std::string(data, data + size);
  Notes notes;
  solver::find_tuned(self, path, "key", notes);
  const solver::TunedExecution ours{.key = {.hash = "ours", .ingredients = {"of a test"}},
                                    .when = "2026-01-31T12:00:00Z",
                                    .process_grid = {1, 1},
                                    .transport = "mpi",
                                    .schedule = "sequential",
                                    .seconds_per_sweep = 1e-3};
  Notes of_keeping;
  solver::keep_tuned(self, path, ours, of_keeping);
  const auto found = solver::find_tuned(self, path, "ours", notes);
  const bool is_found = found && found->schedule == ours.schedule;
  if (is_found != of_keeping.all().empty()) std::abort();
  return 0;
}
