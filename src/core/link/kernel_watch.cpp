// SPDX-License-Identifier: Apache-2.0
#include "link/kernel_watch.hpp"

#include <atomic>
#include <utility>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "comm/state.hpp"
#include "device/buffer.hpp"
#include "device/queue.hpp"

namespace halocline::link {
namespace {

using device::Overdue;
using device::Watch;

// The host's wait for that kernel has the same limit: the kernel must report the missing rank
// before the host's own limit ends.
constexpr double share_of_limit = 0.9;

}  // namespace

KernelWatch::KernelWatch(const Communicator& communicator, std::string what,
                         std::function<std::string(int)> name)
    : communicator_(communicator),
      what_(std::move(what)),
      name_(std::move(name)),
      overdue_(device::allocate(Memory::pinned, sizeof(Overdue))),
      gave_up_(device::allocate(Memory::device, sizeof(unsigned))),
      watch_(device::allocate(Memory::device, sizeof(Watch))) {
  const double seconds = communicator_.options().wait_limit.count() * share_of_limit;
  const Watch watch{.limit_ns = static_cast<unsigned long long>(seconds * 1e9),
                    .gave_up = static_cast<unsigned*>(gave_up_.get()),
                    .overdue = static_cast<Overdue*>(overdue_.get())};
  device::copy(watch_.get(), &watch, sizeof(watch), Stream::host());
  enter();
}

void KernelWatch::check() {
  auto* const overdue = static_cast<Overdue*>(overdue_.get());
  if (std::atomic_ref(overdue->is_set).load(std::memory_order_acquire) == 0) return;
  communicator_.state().give_up();
  leave();
  comm::give_up_all();  // or kernels of others would wait for ever
  throw Error(
      ErrorKind::communication,
      fmt::format(
          "the GPU of rank {} has waited {:g} s in {} for {}; that rank "
          "is stopped, lost or doing something else (option 'wait_limit' sets how long to wait)",
          communicator_.rank(), communicator_.options().wait_limit.count() * share_of_limit,
          fmt::format(fmt::runtime(what_), overdue->epoch), name_(overdue->message)));
}

}  // namespace halocline::link
