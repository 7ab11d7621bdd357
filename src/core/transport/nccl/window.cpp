// SPDX-License-Identifier: Apache-2.0
#include "transport/nccl/window.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "comm/collectives.hpp"
#include "comm/state.hpp"
#include "device/queue.hpp"

namespace halocline::transport::nccl {
namespace {

// NCCL_WIN_REQUIRED_ALIGNMENT of nccl.h.
constexpr std::int64_t alignment = 4096;

}  // namespace

Window::Window(const Communicator& communicator, std::shared_ptr<Connection> connection,
               std::int64_t bytes)
    : communicator_(communicator), connection_(std::move(connection)) {
  const Library& library = connection_->library();
  bytes = std::max<std::int64_t>(1, comm::max_over_ranks(communicator, bytes));
  bytes = (bytes + alignment - 1) / alignment * alignment;
  const auto size = static_cast<std::size_t>(bytes);
  try {
    comm::together(communicator, [&] {
      if (library.window_register == nullptr)
        throw Error(ErrorKind::unavailable,
                    fmt::format("NCCL {} has no windows", version_text(library.version)));
      connection_->check(library.mem_alloc(&memory_, size), "ncclMemAlloc");
      device::clear(memory_, bytes, Stream::host());
    });
    comm::together(communicator, [&] {
      const comm::Watchdog::Guard guard(communicator.state().watchdog(), "ncclCommWindowRegister");
      connection_->check(library.window_register(connection_->comm(), memory_, size, &registered_,
                                                 symmetric_window),
                         "ncclCommWindowRegister");
      // Where it cannot, some versions return no error.
      if (registered_ == nullptr)
        throw Error(ErrorKind::unavailable,
                    fmt::format("NCCL {} registers no memory here", version_text(library.version)));
    });
  } catch (const Error&) {
    // Registered memory stays: releasing it needs all ranks.
    if (memory_ != nullptr && registered_ == nullptr) library.mem_free(memory_);
    throw;
  }
}

Window::~Window() { end(); }

/// No rank frees what others may still store to. After an error it all stays.
void Window::end() {
  const Library& library = connection_->library();
  comm::State& state = communicator_.state();
  if (state.others_may_be_gone() || connection_->is_given_up()) return;
  try {
    device::finish_all();
    comm::barrier(communicator_);
    if (registered_ != nullptr) {
      const comm::Watchdog::Guard guard(state.watchdog(), "ncclCommWindowDeregister");
      library.window_deregister(connection_->comm(), registered_);
    }
    comm::barrier(communicator_);
  } catch (const Error&) {
    return;
  }
  if (memory_ != nullptr) library.mem_free(memory_);
}

std::byte* Window::of(int peer) const {
  const Library& library = connection_->library();
  void* theirs = nullptr;
  if (library.peer_pointer == nullptr ||
      library.peer_pointer(registered_, 0, peer, &theirs) != success)
    return nullptr;
  return static_cast<std::byte*>(theirs);
}

}  // namespace halocline::transport::nccl
