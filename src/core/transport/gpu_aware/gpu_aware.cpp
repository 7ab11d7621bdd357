// SPDX-License-Identifier: Apache-2.0
#include "transport/gpu_aware/gpu_aware.hpp"

#include "device/gpu.hpp"
#include "transport/mpi/channel.hpp"

namespace halocline::transport {

std::optional<std::string> GpuAwareTransport::missing_here() const {
  return device::no_gpu_because();
}

std::optional<std::string> GpuAwareTransport::unavailable(Pair pair, Memory fields) const {
  if (pair == Pair::self) return "copies inside a rank need no MPI; use self";
  if (fields == Memory::device || fields == Memory::managed) return std::nullopt;
  return "it is for device and managed memory only";
}

std::unique_ptr<Channel> GpuAwareTransport::open(const Communicator& communicator,
                                                 std::vector<Message> messages,
                                                 Memory fields) const {
  return std::make_unique<MpiChannel>(communicator, std::move(messages), fields,
                                      "exchange, wait (gpu_aware)");
}

}  // namespace halocline::transport
