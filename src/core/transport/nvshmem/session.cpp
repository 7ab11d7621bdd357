// SPDX-License-Identifier: Apache-2.0
#include "transport/nvshmem/session.hpp"

#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/text/format.hpp"
#include "comm/collectives.hpp"
#include "comm/gate.hpp"
#include "comm/state.hpp"
#include "device/buffer.hpp"
#include "device/gpu.hpp"
#include "device/queue.hpp"

namespace halocline::transport::nvshmem {
namespace {

// As the windows of `peer` are aligned.
constexpr std::size_t alignment = 512;

std::atomic<bool> has_ended{false};  // by MPI_Finalize

void require_all_ranks(const Communicator& communicator) {
  int all = 0;
  comm::check(MPI_Comm_size(MPI_COMM_WORLD, &all), "MPI_Comm_size");
  if (communicator.size() != all)
    throw Error(ErrorKind::unavailable,
                fmt::format("NVSHMEM serves all {} ranks of the job together, and this "
                            "communicator has {} of them",
                            all, communicator.size()));
}

/// The numbers of a communicator's ranks in MPI_COMM_WORLD, by which NVSHMEM knows them.
struct Numbers {
  std::vector<int> of_rank;
};

std::shared_ptr<Numbers> numbers_of(const Communicator& communicator) {
  return communicator.state().kept<Numbers>([&] {
    auto numbers = std::make_shared<Numbers>();
    MPI_Group ours = MPI_GROUP_NULL, all = MPI_GROUP_NULL;
    comm::check(MPI_Comm_group(communicator.state().all(), &ours), "MPI_Comm_group");
    comm::check(MPI_Comm_group(MPI_COMM_WORLD, &all), "MPI_Comm_group");
    std::vector<int> ranks(static_cast<std::size_t>(communicator.size()));
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) ranks[rank] = static_cast<int>(rank);
    numbers->of_rank.resize(ranks.size());
    comm::check(MPI_Group_translate_ranks(ours, communicator.size(), ranks.data(), all,
                                          numbers->of_rank.data()),
                "MPI_Group_translate_ranks");
    MPI_Group_free(&ours);
    MPI_Group_free(&all);
    return numbers;
  });
}

int end_session(MPI_Comm, int, void*, void*) {
  has_ended = true;
  const Library& library = *loaded_library();
  // Where it has not started, its calls end the process (3.4.5).
  if (library.init_status() < is_ready) return MPI_SUCCESS;
  const comm::Watchdog::Guard guard(comm::Watchdog::of_end(), "nvshmemx_hostlib_finalize");
  library.finalize();
  return MPI_SUCCESS;
}

}  // namespace

Session& Session::of(const Communicator& communicator) {
  static std::unique_ptr<Session> session;
  comm::together(communicator, [&] {
    if (loaded_library() == nullptr) throw Error(ErrorKind::unavailable, why_no_library());
    require_all_ranks(communicator);
  });
  const Library& library = *loaded_library();
  if (!session) {
    comm::require_same(communicator, "versions of NVSHMEM", {library.version});
    session.reset(new Session(communicator, library));
  }
  comm::together(communicator, [&] {
    const int status = library.init_status();
    if (status == is_ready) return;
    if (status == is_limited)
      throw Error(
          ErrorKind::unavailable,
          fmt::format("NVSHMEM {} cannot signal between ranks that share a GPU", library.version));
    throw Error(ErrorKind::resource,
                fmt::format("NVSHMEM {} did not start (status {}; '{}'); NVSHMEM_DEBUG=WARN shows "
                            "the cause",
                            library.version, status, library.path));
  });
  return *session;
}

Session::Session(const Communicator& communicator, const Library& library) : library_(library) {
  UniqueId id{};
  id.version = version_of<UniqueId>;
  const std::shared_ptr<Numbers> numbers = numbers_of(communicator);
  comm::on_first_rank(communicator, [&] {
    if (library.get_unique_id(&id) != 0)
      throw Error(ErrorKind::resource,
                  fmt::format("NVSHMEM {} makes no unique id", library.version));
  });
  const std::string bytes =
      comm::broadcast(communicator, std::string(reinterpret_cast<const char*>(&id), sizeof id), 0);
  std::memcpy(&id, bytes.data(), sizeof id);
  InitAttributes attributes{};
  attributes.version = version_of<InitAttributes>;
  attributes.arguments.version = version_of<InitAttributes::Arguments>;
  attributes.arguments.unique_id.version = version_of<UniqueIdArguments>;
  const std::int64_t free_before = device::gpu_memory().free_bytes;
  const auto begun = std::chrono::steady_clock::now();
  comm::together(communicator, [&] {
    library.set_attributes(numbers->of_rank[static_cast<std::size_t>(communicator.rank())],
                           communicator.size(), &id, &attributes);
    const comm::Watchdog::Guard guard(communicator.state().watchdog(),
                                      "nvshmemx_hostlib_init_attr");
    // Its result is 0 even if it failed (3.4.5): the status shows it.
    library.init(init_with_unique_id, &attributes);
    end_with_mpi();
  });
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begun;
  const std::int64_t used =
      std::max<std::int64_t>(0, free_before - device::gpu_memory().free_bytes);
  note_ =
      fmt::format("NVSHMEM {} ('{}', found by {}) took {:.2f} s and {} of each GPU to start",
                  library.version, library.path, library.found_by, taken.count(), bytes_text(used));
}

/// MPI_Finalize begins by deleting the attributes of MPI_COMM_SELF, while all ranks are there.
void Session::end_with_mpi() {
  int key = MPI_KEYVAL_INVALID;
  comm::check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, end_session, &key, nullptr),
              "MPI_Comm_create_keyval");
  comm::check(MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr), "MPI_Comm_set_attr");
}

bool Session::is_over() { return has_ended; }

int Session::number_of(const Communicator& communicator, int rank) const {
  return numbers_of(communicator)->of_rank[static_cast<std::size_t>(rank)];
}

std::shared_ptr<void> Session::allocate(const Communicator& communicator, std::int64_t bytes) {
  const std::int64_t most = comm::max_over_ranks(communicator, std::max<std::int64_t>(bytes, 1));
  std::shared_ptr<void> memory;
  comm::together(communicator, [&] {
    const comm::Watchdog::Guard guard(communicator.state().watchdog(), "nvshmem_align");
    void* const made = library_.align(alignment, static_cast<std::size_t>(most));
    if (made == nullptr)
      throw Error(ErrorKind::resource,
                  fmt::format("NVSHMEM's symmetric heap has no room for {}; NVSHMEM_SYMMETRIC_SIZE "
                              "sets its size",
                              bytes_text(most)));
    const auto free_if_all_are_there = [communicator, free = library_.free](void* pointer) {
      if (has_ended || communicator.state().others_may_be_gone()) return;
      // It waits for all ranks.
      const comm::Watchdog::Guard in_time(communicator.state().watchdog(), "nvshmem_free");
      free(pointer);
    };
    memory = {made, free_if_all_are_there};
    device::clear(made, most, Stream::host());
  });
  comm::barrier(communicator);  // no rank writes before all have cleared
  return memory;
}

}  // namespace halocline::transport::nvshmem
