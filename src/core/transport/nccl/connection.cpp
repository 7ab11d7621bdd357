// SPDX-License-Identifier: Apache-2.0
#include "transport/nccl/connection.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <halocline/error.hpp>

#include "base/process/environment.hpp"
#include "base/text/format.hpp"
#include "comm/collectives.hpp"
#include "device/gpu.hpp"

namespace halocline::transport::nccl {
namespace {

using Seconds = std::chrono::duration<double>;

// From 2.30 on NCCL takes several ranks on one GPU, if this variable is 1. An exchange between two
// of them took 4.5 ms (H200, 2.32.3).
constexpr int shares_gpus_from = 23000;
constexpr const char* shares_gpus_variable = "NCCL_MULTI_RANK_GPU_ENABLE";

/// Throws unavailable if ranks share a GPU that NCCL does not take twice: some versions hang.
void check_gpus(const Communicator& communicator, const Library& library) {
  std::string mine;
  comm::together(communicator, [&] { mine = device::current_gpu().uuid; });
  const std::vector<std::string> uuids = comm::gather_texts(communicator, mine);
  std::string why;
  const bool is_enabled =
      library.version >= shares_gpus_from && environment(shares_gpus_variable) == "1";
  for (std::size_t rank = 0; rank < uuids.size() && !is_enabled && why.empty(); ++rank) {
    const auto first = std::find(uuids.begin(), uuids.end(), uuids[rank]) - uuids.begin();
    if (first < static_cast<std::ptrdiff_t>(rank))
      why = fmt::format("NCCL {} takes one rank per GPU, but ranks {} and {} share {}{}",
                        version_text(library.version), first, rank, uuids[rank],
                        library.version < shares_gpus_from
                            ? ""
                            : fmt::format("; {}=1 allows it, and is slow", shares_gpus_variable));
  }
  why = comm::first_text(communicator, why);
  if (!why.empty()) throw Error(ErrorKind::unavailable, why);
}

/// Ranks on one node find each other through an interface of the network, too.
std::string how_ranks_find_each_other() {
  const auto chosen = environment("NCCL_SOCKET_IFNAME");
  return fmt::format(
      "NCCL's ranks find each other through a network interface, which "
      "NCCL_SOCKET_IFNAME selects{}; 'ip -brief address' lists those that there are",
      chosen ? fmt::format(" (now '{}')", *chosen) : "");
}

}  // namespace

std::shared_ptr<Connection> Connection::of(const Communicator& communicator) {
  return communicator.state().kept<Connection>([&] {
    comm::together(communicator, [] {
      if (loaded_library() == nullptr) throw Error(ErrorKind::unavailable, why_no_library());
    });
    const Library& loaded = *loaded_library();
    comm::require_same(communicator, "versions of NCCL", {version_text(loaded.version)});
    check_gpus(communicator, loaded);
    UniqueId id{};
    comm::on_first_rank(communicator, [&] {
      if (const int result = loaded.get_unique_id(&id); result != success)
        throw Error(ErrorKind::resource,
                    fmt::format("{}; {}", error_text(loaded, result, "ncclGetUniqueId"),
                                how_ranks_find_each_other()));
    });
    const std::string bytes =
        comm::broadcast(communicator, std::string(id.bytes, sizeof id.bytes), 0);
    std::memcpy(id.bytes, bytes.data(), sizeof id.bytes);
    std::shared_ptr<Connection> made;
    try {
      comm::together(communicator, [&] {
        made = std::make_shared<Connection>(communicator.state(), loaded, id);
      });
    } catch (const Error&) {
      if (made) made->end_kernels();  // other ranks have none
      throw;
    }
    // A variable that one rank has counts for all: they register together.
    if (comm::max_over_ranks(communicator, std::int64_t{made->may_register() ? 0 : 1}) != 0)
      made->register_no_more();
    return made;
  });
}

Connection::Connection(comm::State& state, const Library& library, const UniqueId& id)
    : state_(state),
      library_(library),
      may_register_(library.window_register != nullptr && environment(windows_variable) != "off") {
  const std::int64_t free_before = device::gpu_memory().free_bytes;
  const auto begun = std::chrono::steady_clock::now();
  {
    // It returns once all ranks have called it.
    const comm::Watchdog::Guard guard(state.watchdog(), "ncclCommInitRank");
    check(library.comm_init_rank(&comm_, state.size(), id, state.rank()), "ncclCommInitRank");
  }
  const Seconds taken = std::chrono::steady_clock::now() - begun;
  // Other processes may have freed memory meanwhile.
  const std::int64_t used =
      std::max<std::int64_t>(0, free_before - device::gpu_memory().free_bytes);
  note_ = fmt::format("NCCL {} ('{}', found by {}) took {:.2f} s and {} of each GPU to start",
                      version_text(library.version), library.path, library.found_by, taken.count(),
                      bytes_text(used));
  enter();
}

Connection::~Connection() {
  if (comm_ == nullptr || state_.others_may_be_gone()) return;
  // It waits for graphs that have recorded its calls.
  const comm::Watchdog::Guard guard(state_.watchdog(), "ncclCommDestroy");
  library_.comm_destroy(comm_);
}

Comm* Connection::comm() const {
  if (comm_ == nullptr)
    throw Error(ErrorKind::communication,
                "NCCL was given up after a rank did not answer; make a new communicator");
  return comm_;
}

void Connection::check(int result, const char* call) const {
  if (result != success) throw Error(ErrorKind::resource, error_text(library_, result, call));
}

void Connection::check_async() {
  if (comm_ == nullptr) return;
  int result = success;
  library_.comm_get_async_error(comm_, &result);
  if (result == success || result == in_progress) return;
  const std::string ranks = awaited();
  abort();
  throw Error(ErrorKind::communication,
              fmt::format("NCCL lost another rank, or the network{}: {}",
                          ranks.empty() ? "" : fmt::format(", in exchanges with {}", ranks),
                          error_text(library_, result, "ncclCommGetAsyncError")));
}

std::string Connection::awaited() const {
  std::vector<std::string> all;
  for (const User* user : users_)
    if (std::string one = user->awaited();
        !one.empty() && std::find(all.begin(), all.end(), one) == all.end())
      all.push_back(std::move(one));
  return fmt::format("{}", fmt::join(all, " or "));
}

std::string Connection::give_up() {
  if (comm_ == nullptr) return {};
  const std::string ranks = awaited();
  if (ranks.empty()) return {};
  abort();
  return fmt::format("NCCL for {}", ranks);
}

/// Ends kernels of NCCL that wait for a lost rank, so that memory can be freed. The call sets a
/// word that they read, and then waits until all graphs with calls of the communicator are
/// destroyed (2.28.9): hence a thread of its own.
void Connection::end_kernels() {
  std::thread([abort = library_.comm_abort, comm = comm_] { abort(comm); }).detach();
  comm_ = nullptr;
}

void Connection::abort() {
  end_kernels();
  state_.give_up();
}

}  // namespace halocline::transport::nccl
