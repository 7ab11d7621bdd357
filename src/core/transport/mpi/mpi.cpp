// SPDX-License-Identifier: Apache-2.0
#include "transport/mpi/mpi.hpp"

#include "transport/mpi/channel.hpp"

namespace halocline::transport {

std::optional<std::string> MpiTransport::unavailable(Pair, Memory fields) const {
  if (host_reads(fields)) return std::nullopt;
  return "an MPI that is not GPU-aware cannot read device memory";
}

std::unique_ptr<Channel> MpiTransport::open(const Communicator& communicator,
                                            std::vector<Message> messages, Memory fields) const {
  return std::make_unique<MpiChannel>(communicator, std::move(messages), slot_memory(fields),
                                      "exchange, wait (mpi)");
}

}  // namespace halocline::transport
