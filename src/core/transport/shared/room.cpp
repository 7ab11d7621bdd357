// SPDX-License-Identifier: Apache-2.0
#include "transport/shared/room.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/statvfs.h>

#include <halocline/error.hpp>

#include "base/format.hpp"
#include "base/pages.hpp"
#include "comm/gate.hpp"
#include "comm/tool_interface.hpp"

namespace halocline::transport {
namespace {

/// Reads a text that MPI has among its control variables; empty if this MPI has no such variable.
std::string control_variable(const char* name) {
  const comm::ToolInterface tool_interface;
  if (!tool_interface.is_open()) return "";
  int index = 0, count = 0;
  if (MPI_T_cvar_get_index(name, &index) != MPI_SUCCESS) return "";
  MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
  if (MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count) != MPI_SUCCESS) return "";
  std::vector<char> text(static_cast<std::size_t>(std::max(count, 1)) + 1, '\0');
  if (MPI_T_cvar_read(handle, text.data()) != MPI_SUCCESS) text.front() = '\0';
  MPI_T_cvar_handle_free(&handle);
  return text.data();
}

/// Returns the folder that windows are files in. Open MPI tells it; MPICH, from 3.x to 4.x, has
/// /dev/shm built in.
const std::string& folder_of_windows() {
  static const std::string folder = [] {
    const std::string told = control_variable("osc_sm_backing_directory");
    return told.empty() ? std::string("/dev/shm") : told;
  }();
  return folder;
}

/// Returns how many bytes files in the folder may still take; the largest number where that is not
/// known or not limited.
std::int64_t free_bytes_in(const std::string& folder) {
  constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max();
  struct statvfs file_system {};
  if (::statvfs(folder.c_str(), &file_system) != 0 || file_system.f_blocks == 0) return any;
  const auto block_bytes = static_cast<std::int64_t>(file_system.f_frsize);
  const auto blocks = static_cast<std::int64_t>(file_system.f_bavail);
  return blocks > any / block_bytes ? any : blocks * block_bytes;
}

struct Room {
  std::int64_t needed, free;
};

/// Returns what every rank of the node needs and sees free.
std::vector<Room> rooms_on_node(comm::State& state, const Room& mine) {
  const auto memory = std::make_shared<std::pair<Room, std::vector<Room>>>(
      mine, std::vector<Room>(static_cast<std::size_t>(state.node_size())));
  MPI_Request request = MPI_REQUEST_NULL;
  constexpr int bytes = static_cast<int>(sizeof(Room));
  comm::check(MPI_Iallgather(&memory->first, bytes, MPI_BYTE, memory->second.data(), bytes,
                             MPI_BYTE, state.node(), &request),
              "MPI_Iallgather");
  comm::wait_all(state, {&request, 1},
                 {.site = "plan, room (shared)", .phase = Phase::other, .missing = {}}, memory);
  return memory->second;
}

}  // namespace

void require_room_for_window(comm::State& state, std::int64_t bytes) {
  const std::string& folder = folder_of_windows();
  // Parts begin on pages of their own.
  const std::int64_t page = page_bytes(), whole_pages = (bytes + page - 1) / page * page;
  std::int64_t needed = 0, free = std::numeric_limits<std::int64_t>::max();
  for (const Room& room : rooms_on_node(state, {whole_pages, free_bytes_in(folder)})) {
    needed += room.needed;
    free = std::min(free, room.free);
  }
  // Open MPI refuses a file that leaves less than a twentieth of its own size free, and both MPIs
  // put a few pages of their own beside the parts.
  const std::int64_t pages_of_mpi = 16 * page;
  if (needed + needed / 20 + pages_of_mpi <= free) return;
  throw Error(ErrorKind::resource,
              fmt::format("the ranks of this node need {} of shared memory for their halos, "
                          "but '{}' has only {} free; make it larger (docker run --shm-size, "
                          "mount -o remount,size=), or use transport mpi",
                          bytes_text(needed), folder, bytes_text(free)));
}

}  // namespace halocline::transport
