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

#include "base/pages.hpp"
#include "base/process/environment.hpp"
#include "base/text/format.hpp"
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

/// Returns the folder that windows are files in, unless a file of MPI's settings names another.
/// Open MPI gets it from mpirun; MPICH, from 3.x to 4.x, has /dev/shm built in, as Open MPI has.
std::string usual_folder() {
  return environment("OMPI_MCA_osc_sm_backing_directory").value_or("/dev/shm");
}

/// Asks MPI itself for that folder. It then loads every component that it has: in Debian's Open MPI
/// 4.1 one of them, PSM2, sleeps 0.2 s, a third of the time in which a run of two ranks begins.
std::string folder_told_by_mpi() {
  const std::string told = control_variable("osc_sm_backing_directory");
  return told.empty() ? usual_folder() : told;
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

  // Open MPI refuses a file that leaves less than a twentieth of its own size free, and both MPIs
  // add a few pages of their own to the parts.
  bool suffices() const { return needed + needed / 20 + 16 * page_bytes() <= free; }
};

/// Returns what the ranks of the node need together, and the least that any of them sees free.
Room room_on_node(comm::State& state, const Room& mine) {
  const auto memory = std::make_shared<std::pair<Room, std::vector<Room>>>(
      mine, std::vector<Room>(static_cast<std::size_t>(state.node_size())));
  MPI_Request request = MPI_REQUEST_NULL;
  constexpr int bytes = static_cast<int>(sizeof(Room));
  comm::check(MPI_Iallgather(&memory->first, bytes, MPI_BYTE, memory->second.data(), bytes,
                             MPI_BYTE, state.node(), &request),
              "MPI_Iallgather");
  comm::wait_all(state, {&request, 1},
                 {.site = "plan, room (shared)", .phase = Phase::other, .missing = {}}, memory);
  Room all{0, std::numeric_limits<std::int64_t>::max()};
  for (const Room& room : memory->second)
    all = {all.needed + room.needed, std::min(all.free, room.free)};
  return all;
}

}  // namespace

void require_room_for_window(comm::State& state, std::int64_t bytes) {
  // Parts begin on pages of their own.
  const std::int64_t page = page_bytes(), whole_pages = (bytes + page - 1) / page * page;
  const auto room_in = [&](const std::string& folder) {
    return room_on_node(state, {whole_pages, free_bytes_in(folder)});
  };
  if (room_in(usual_folder()).suffices()) return;
  const std::string folder = folder_told_by_mpi();
  const Room room = room_in(folder);
  if (room.suffices()) return;
  throw Error(ErrorKind::resource,
              fmt::format("the ranks of this node need {} of shared memory for their halos, "
                          "but '{}' has only {} free; make it larger (docker run --shm-size, "
                          "mount -o remount,size=), or use transport mpi",
                          bytes_text(room.needed), folder, bytes_text(room.free)));
}

}  // namespace halocline::transport
